/* The account of static batches. See pads.h. */
#include "engine/pads.h"

#include "base/mem.h"
#include "engine/state.h"

struct account { /* of a service */
    struct pads_sum lost;
    int64_t n_batches, n_rows, n_early;
};
struct engine_pads {
    struct pads_lost *rows;   /* (n_requests_max) */
    struct account *services; /* (n_services_max) */
};

int64_t engine_pads_units(const struct engine_options *o, const struct kv_layout *layout)
{
    if (o->pad_tokens == 0 || o->is_virtual)
        return 0;
    int64_t n_blocks = o->n_lanes * (3 + kv_blocks_for(o->pad_tokens, layout->block_tokens));
    return layout->units_per_block > 1 ? n_blocks * layout->units_per_block
                                       : div_up_i64(n_blocks, layout->blocks_per_unit);
}

struct engine_pads *engine_pads_open(const struct engine_options *options)
{
    if (!options->policy->pads_batches)
        return NULL;
    struct engine_pads *pads = mem_take(sizeof(*pads));
    pads->rows = mem_take(options->n_requests_max * sizeof(*pads->rows));
    pads->services = mem_take((size_t)options->n_services_max * sizeof(*pads->services));
    return pads;
}

void engine_pads_close(struct engine_pads *pads)
{
    if (pads == NULL)
        return;
    mem_give(pads->rows);
    mem_give(pads->services);
    mem_give(pads);
}

void engine_pads_begin_request(struct engine_pads *pads, uint32_t slot)
{
    if (pads != NULL)
        pads->rows[slot] = (struct pads_lost){ 0, 0 };
}

void engine_pads_begin_service(struct engine_pads *pads, int service)
{
    if (pads != NULL)
        pads->services[service] = (struct account){ .n_batches = 0 };
}

/* Counts a static batch as over when all of its members are. */
static void count_over(struct engine *e, const struct batch *batch, struct account *account)
{
    bool is_early = true;
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct engine_own *own = &e->own[batch->items[i].slot];
        const struct request *r = &e->requests[batch->items[i].slot];
        if (own->end_what == 0)
            return;
        is_early = is_early && own->end_what == SERVICE_ENDED && e->scratch->n_new[i] < r->n_lease;
    }
    for (int32_t i = 0; i < batch->n_items && is_early && e->seen != NULL; i++)
        e->seen[batch->items[i].slot].n_early++;
    account->n_batches++;
    account->n_rows += batch_n_rows(batch);
    account->n_early += is_early;
}

static struct pads_lost row_lost(const struct engine *e, const struct batch *batch, int32_t i,
                                 int32_t width, int32_t n_steps)
{
    int32_t n_item = batch->items[i].n_tokens, n_new = e->scratch->n_new[i];
    int32_t n_lacking = e->scratch->n_computed[i] - max_i32(n_new - 1, 0);
    int32_t n_rounds = (n_lacking - 1) / n_item + max_i32(n_new, 1);
    return (struct pads_lost){ width - n_item, max_i32(n_steps - n_rounds, 0) };
}

struct pads_sum engine_pads_count(struct engine *e, const struct engine_flight *flight,
                                  const struct engine_exec_done *done)
{
    const struct batch *batch = &flight->batch;
    struct pads_sum sum = { 0, 0 };
    if (batch_is_plain(batch) || done->is_failed)
        return sum;
    CHECK(e->pads != NULL);
    struct account *account = &e->pads->services[batch->service];
    int32_t width = batch_width(batch);
    for (int32_t i = 0; i < batch->n_items; i++) {
        struct pads_lost *row = &e->pads->rows[batch->items[i].slot];
        struct pads_lost lost = row_lost(e, batch, i, width, done->n_steps);
        row->n_pad += lost.n_pad;
        row->n_invalid += lost.n_invalid;
        pads_add(&sum, lost);
    }
    count_over(e, batch, account);
    int64_t n_empty = batch_n_rows(batch) - batch->n_items;
    sum.n_invalid += n_empty * (width + done->n_steps - 1);
    account->lost.n_pad += sum.n_pad;
    account->lost.n_invalid += sum.n_invalid;
    return sum;
}

struct pads_lost engine_pads_lost(const struct engine_pads *pads, uint32_t slot)
{
    return pads != NULL ? pads->rows[slot] : (struct pads_lost){ 0, 0 };
}

void engine_pads_report(const struct engine_pads *pads, int service, struct service_report *report)
{
    if (pads == NULL)
        return;
    const struct account *account = &pads->services[service];
    report->n_pad_tokens = account->lost.n_pad;
    report->n_invalid_tokens = account->lost.n_invalid;
    report->n_static_batches = account->n_batches;
    report->n_static_seats = account->n_rows;
    report->n_static_early = account->n_early;
}
