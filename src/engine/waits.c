/* Computes when tokens came: the first of a request, the last, and the longest time between two. A
 * hold counts as if its rounds had been planned one by one, so its tokens came with their rounds.
 * The tokens of a slice come when it is over. */
#include "engine/waits.h"

/* When the first of its rounds ended (from is 1; else the from-th), and the longest time from then
 * between the ends of two. Rounds that do not represent single steps end all at once, now. */
struct engine_rounds {
    int64_t first_ns, gap_ns;
};

static void note(struct engine_waits *waits, const struct engine_rounds *rounds, int64_t end_ns)
{
    if (waits->first_ns == 0)
        waits->first_ns = rounds->first_ns;
    else
        waits->gap_ns_max = max_i64(waits->gap_ns_max, rounds->first_ns - waits->last_ns);
    waits->gap_ns_max = max_i64(waits->gap_ns_max, rounds->gap_ns);
    waits->last_ns = end_ns;
}

static struct engine_rounds rounds_of(const struct engine *e, uint16_t lane, int32_t n_steps,
                                      int32_t from)
{
    const struct engine_exec *exec = &e->options.exec;
    struct engine_rounds rounds = { e->ended_ns, 0 };
    if (n_steps > 1 && from < n_steps && e->lanes[lane].is_hold && exec->rounds != NULL)
        exec->rounds(exec->self, from, &rounds.first_ns, &rounds.gap_ns);
    return rounds;
}

void engine_waits_note(struct engine *e, const struct engine_flight *flight,
                       const struct engine_exec_done *done)
{
    const struct batch *batch = &flight->batch;
    if (!e->options.tells_waits || done->is_failed)
        return;
    uint16_t lane = (uint16_t)batch_place(batch, e->options.n_deep);
    struct engine_rounds decode = rounds_of(e, lane, done->n_steps, 1);
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct batch_item *item = &batch->items[i];
        const struct request *r = &e->requests[item->slot];
        int32_t from = (int32_t)div_up_i64(r->n_tokens - r->n_computed, item->n_tokens);
        struct engine_rounds rounds = decode;
        if (done->n_new[i] == 0)
            continue;
        if (from > 1)
            rounds = rounds_of(e, lane, done->n_steps, from);
        note(&e->seen[item->slot].waits, &rounds, e->ended_ns);
    }
}
