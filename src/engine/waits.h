/* How long requests waited for their tokens, for a submitter who hears of few of them. */
#pragma once
#include "engine/state.h"

/* A batch has ended, and no record has changed yet: the tokens of its items, the steady ones left
 * out. Nothing where nobody wants to know. */
void engine_waits_note(struct engine *engine, const struct engine_flight *flight,
                       const struct engine_exec_done *done);
/* When the first of its rounds ended (from is 1; else the from-th), and the longest time from then
 * between the ends of two. Of rounds that stand for single steps; others end all at once, now. */
struct engine_rounds {
    int64_t first_ns, gap_ns;
};
struct engine_rounds engine_waits_rounds(const struct engine *engine, uint16_t lane,
                                         int32_t n_steps, int32_t from);
