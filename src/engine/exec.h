/* The executor's interface: the real executor (run) and the modelled one (sim) implement it.
 *
 * begin starts batches on one lane, in turn, for n_rounds rounds (fewer may be done, never more).
 * poll returns what ended. The batches' items stay in place until then. From begin until poll
 * reports a batch, its requests do not change: the engine touches neither their records nor their
 * blocks. */
#pragma once
#include "core/batch.h"
#include "core/request.h"
#include "predict/perf.h"

struct kv;

/* Data that the engine lends its executor, constant after attach. */
struct engine_exec_view {
    const struct request *requests; /* the engine's table, by slot */
    struct engine_bodies
        *bodies;   /* token sequences and sampling by request.body: engine/bodies.h */
    struct kv *kv; /* tables only */
};
struct engine_exec_done {
    uint32_t batch;
    int32_t n_steps; /* rounds done */
    int64_t begin_ns, end_ns;
    const int32_t *n_new; /* per item: number of new tokens, 0 or more; they follow the known
                                       tokens in the body. All were drawn, except for those that
                                       a grammar forces (engine_exec_jumped). An item with drafts
                                       has one, and one more for each draft that equals the token
                                       drawn before it */
    const struct token_logprobs *const
        *logprobs; /* per item: n_new of them, or NULL if not wanted; NULL when none are */
    /* Per item: its answer can't follow its grammar. Its drawn token does not count, and it ends as
     * FAILED. NULL: none. */
    const bool *is_broken;
    /* The executor could not compute it: its requests are returned. After a failed copy in, the
     * batches begun with it fail too, since they would read what it should have copied. */
    bool is_failed;
    bool is_lost; /* it also computes nothing any more, so all requests are returned */
};
struct engine_exec {
    void *self;
    void (*attach)(void *self, const struct engine_exec_view *view);
    void (*begin)(void *self, const struct batch *batches, int n_batches, int n_rounds);
    void (*cut)(void *self, uint16_t lane); /* end at the next step boundary */
    bool (*poll)(void *self,
                 struct engine_exec_done *done); /* pointers stay valid until the next poll */
    int (*wait_fd)(void *self);     /* readable when poll has a result; -1 in the simulator */
    int64_t (*next_ns)(void *self); /* simulator: next result of poll; TIME_NEVER: none */
    /* Simulator: for the batch that poll returned last, before any of its requests has changed.
     * Returns when its from-th round ended (from 1), and the longest time between the ends of two
     * rounds since then. NULL: unknown. */
    void (*rounds)(void *self, int32_t from, int64_t *first_ns, int64_t *gap_ns);
    /* Simulator: rounds that have not ended by now are neither done nor reported. NULL: it can't
     * stop. */
    void (*stop)(void *self, uint16_t lane);
    /* Returns what names the bits of a service's model, which is loaded: run_model.arithmetic. It
     * is a second safeguard of the prefix index, whose blocks go with the model that leaves. NULL:
     * all models of a service have the same. */
    uint64_t (*arithmetic)(void *self, int service);
    /* Returns the host tier's memory (kv/host.h); NULL: it has none, so that no KV is handed over.
     */
    unsigned char *(*host)(void *self);
    /* Returns what names the files of a service's loaded model, as run_model.file; NULL: nothing.
     */
    uint64_t (*file)(void *self, int service);
    bool has_row_classes; /* as the device: see compute_device */
    bool has_vectors;     /* the same */
    int32_t n_rows_max;   /* rows of one pass */
};

/* ---- The meaning of n_rounds, in one place for engine and executors. ----
 *
 * A round computes item.n_tokens positions of each item, or what it lacks when that is less (so the
 * rounds after catching up compute one token each). A token is drawn whenever all known tokens are
 * computed; drawing stops at n_tokens_max or at the end of the lease.
 *
 * An item with drafts has one round, in which the executor finds the drafts behind the known tokens
 * in the body. It draws behind each row. The round then counts as several rounds of a decode: as
 * many as there are tokens drawn up to the first draft that differs. */
struct engine_progress {
    int32_t n_computed; /* positions computed */
    int32_t n_new;      /* tokens drawn */
};
struct engine_progress engine_exec_progress_of_rounds(const struct request *request,
                                                      int32_t n_item_tokens, int32_t n_rounds);
static inline struct engine_progress engine_exec_progress(const struct request *request,
                                                          int32_t n_item_tokens, int32_t n_rounds)
{
    int32_t left = request->n_tokens_max - request->n_tokens;
    if (request->n_tokens - request->n_computed == 1 && request->kind == REQUEST_GENERATE &&
        left > 0 && request->n_lease == 0) { /* a decode, nearly always */
        int32_t n = min_i32(n_rounds, left);
        return (struct engine_progress){ n, n };
    }
    return engine_exec_progress_of_rounds(request, n_item_tokens, n_rounds);
}
/* Returns the progress of an item, at most: its drafts may be refused. */
static inline struct engine_progress engine_exec_progress_of(const struct request *request,
                                                             const struct batch_item *item,
                                                             int32_t n_rounds)
{
    if (item->n_draft > 0)
        return engine_exec_progress(request, 1, 1 + item->n_draft);
    return engine_exec_progress(request, item->n_tokens, n_rounds);
}
/* Returns how many of an item's n_new tokens were appended behind the drawn ones, without draws,
 * since the grammar of the request forces them: behind the single round of a plain batch. */
static inline int32_t engine_exec_jumped(const struct request *request,
                                         struct engine_progress progress, int32_t n_new)
{
    int32_t n = n_new - progress.n_new, n_left = request->n_tokens_max - request->n_tokens;
    if (n <= 0 || progress.n_new != 1 || (request->flags & REQUEST_GUIDED) == 0 ||
        (request->flags & REQUEST_WANTS_LOGPROBS) != 0 || n_new > n_left ||
        (request->n_lease > 0 && n_new > request->n_lease))
        return 0;
    return n;
}
/* Returns the rounds until the request draws its last token: n_tokens_max or the end of its
 * lease. */
int32_t engine_exec_rounds(const struct request *request, int32_t n_item_tokens);
/* Returns what the first round of a batch computes, by the present records. */
struct perf_load engine_exec_load(const struct batch *batch, const struct request *requests);
/* Returns the same for one of its rounds, the first being 0. */
struct perf_load engine_exec_load_of_round(const struct batch *batch,
                                           const struct request *requests, int32_t round);
