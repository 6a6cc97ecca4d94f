/* An executor for tests: virtual time, and tokens that betray every mistake.
 *
 * The KV of a position is a hash of all tokens up to it, and the hashes are chained through the
 * blocks themselves. A step reads the state of the position before from the request's table, adds
 * the token, and writes the next state. A token is drawn from (seed, position, state). So a request
 * whose blocks were mixed up, evicted too early, shared wrongly or computed twice with other tokens
 * gets other tokens than fake_expect returns, which knows nothing of blocks. */
#pragma once
#include "compute/device.h"
#include "engine/bodies.h"
#include "core/service.h"
#include "engine/exec.h"
#include "kv/kv.h"

enum { FAKE_VOCABULARY = 200, FAKE_ROUNDS_MAX = 256 };

struct fake_lane {
    int n_batches, n_polled, n_rounds;
    bool has_lost_kv; /* a copy in failed */
    int64_t begin_ns;
    struct batch batches[LIMIT_BATCHES];
    struct batch_item *items; /* (LIMIT_BATCHES, LIMIT_BATCH_ITEMS) */
};
struct fake {
    const int64_t *clock_ns;
    int64_t step_ns;     /* of one batch of one round */
    uint32_t fail_one;   /* one batch in this many fails, with those behind its copy; 0 = none */
    int64_t lose_behind; /* the device is lost after this many batches; 0 = never */
    struct engine_exec_view view;
    struct compute_device *device; /* of the pool's memory, and of copies */
    struct compute_memory *pool, *host;
    struct fake_lane lanes[LIMIT_LANES];
    int32_t n_new[LIMIT_BATCH_ITEMS];
    struct token_logprobs logprobs[LIMIT_BATCH_ITEMS][4];
    const struct token_logprobs *logprobs_at[LIMIT_BATCH_ITEMS];
    int64_t n_told, n_begun, n_failed, n_chunks, n_cuts, n_rounds_saved, n_side_by_side, n_copied;
    int64_t n_failed_in; /* copies in */
    int64_t n_drafted, n_accepted;
};
void fake_init(struct fake *fake, const int64_t *clock_ns, int64_t step_ns);
void fake_free(struct fake *fake);
struct engine_exec fake_exec(struct fake *fake);

/* Writes all tokens that this request ends with, the prompt included. Returns how many there
 * are. */
int32_t fake_expect(const struct request_body *body, int32_t n_prompt, int32_t n_tokens_max,
                    int32_t *tokens);
float fake_logprob(int32_t token);
