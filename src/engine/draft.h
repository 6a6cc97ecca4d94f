/* Speculation: drafts of the next tokens of running answers, which the executor verifies in one
 * batch.
 *
 * A draft is accepted only when it equals the token that the draw picks at its position, with the
 * request's seed. So an answer is the same with and without drafts. Its rows are generated rows,
 * whose bits do not depend on the other rows of a pass (compute/compute.h). A refused draft leaves
 * nothing behind: its position is computed again, and the prefix index sees computed tokens only.
 *
 *   plan: looked up, and shown to the policy --in a plan--> written behind the known tokens
 *     ^                                                              | begin, draws, commit
 *     |<---- the tokens that came are compared, planned or not ------|
 *
 * A row more makes a batch slower, and an accepted draft makes it more useful. So a draft is shown
 * only if its chance, times the time of the batch, exceeds the time of its row, times the tokens of
 * the batch. The chances are measured, also for drafts that no plan took. Batches that fill the
 * machine get none, since a row there costs as much as a token.
 *
 * Requests with a grammar get no drafts, since masks need the tokens before them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { ENGINE_DRAFTS_MAX = 12 }; /* of a request in one batch */

struct engine;
struct engine_draft { /* of a slot */
    int32_t from;     /* the next tokens are expected to be those from here on; 0 = unknown */
    int32_t at;       /* the request's tokens when it was looked up; 0 = it was not */
    uint8_t n_hits, n_trials; /* recent tokens that were expected, of those looked up */
    float chance;             /* that all drafts so far are accepted, while they are chosen */
};
/* Takes and gives back the tables of an engine that computes; a simulated one has no drafts. */
void engine_draft_open(struct engine *engine);
void engine_draft_close(struct engine *engine);
/* Chooses the drafts that the view shows: view.n_drafts. Only for an engine with the tables. */
void engine_draft_plan(struct engine *engine);
/* Writes a request's first n drafts behind its known tokens. */
void engine_draft_write(struct engine *engine, uint32_t slot, int32_t n);
/* Compares the n_new tokens behind the first n_before, which have just come. */
void engine_draft_learn(struct engine *engine, uint32_t slot, int32_t n_before, int32_t n_new);
/* Forgets all about the slot's request before. */
void engine_draft_forget(struct engine *engine, uint32_t slot);
