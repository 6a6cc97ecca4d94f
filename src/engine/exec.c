/* Computes the work of rounds: the arithmetic that engine, real executor and modelled executor
 * share. */
#include "engine/exec.h"

/* Tokens that may still be drawn. */
static int32_t n_left(const struct request *request)
{
    int32_t left = request->n_tokens_max - request->n_tokens;
    return request->n_lease > 0 ? min_i32(left, request->n_lease) : left;
}

struct engine_progress engine_exec_progress_of_rounds(const struct request *request,
                                                      int32_t n_item_tokens, int32_t n_rounds)
{
    int32_t lacking = request->n_tokens - request->n_computed;
    CHECK(n_item_tokens > 0 && lacking > 0);
    int32_t n_catch_up = (lacking - 1) / n_item_tokens + 1;
    if (n_rounds < n_catch_up)
        return (struct engine_progress){ n_rounds * n_item_tokens, 0 };
    if (request->kind != REQUEST_GENERATE)
        return (struct engine_progress){ lacking, 0 };
    int32_t n_new = min_i32(n_rounds - n_catch_up + 1, n_left(request));
    return (struct engine_progress){ lacking + n_new - 1, n_new };
}

int32_t engine_exec_rounds(const struct request *request, int32_t n_item_tokens)
{
    int32_t lacking = request->n_tokens - request->n_computed;
    int32_t n_catch_up = (lacking - 1) / n_item_tokens + 1;
    return request->kind != REQUEST_GENERATE ? n_catch_up : n_catch_up + n_left(request) - 1;
}

/* Adds a decode and its drafts: each of their rows costs as much as another decode. */
static void add_drafts(struct perf_load *load, const struct request *request,
                       const struct batch_item *item)
{
    int64_t n_context = request->n_computed + 1;
    load->n_decodes += 1 + item->n_draft;
    load->n_decode_context += (1 + item->n_draft) * n_context;
    load->n_context_most = max_i64(load->n_context_most, n_context + item->n_draft);
}

struct perf_load engine_exec_load(const struct batch *batch, const struct request *requests)
{
    struct perf_load load = { 0 };
    if (!batch_is_plain(batch))
        return engine_exec_load_of_round(batch, requests, 0);
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct batch_item *item = &batch->items[i];
        const struct request *request = &requests[item->slot];
        int64_t n = min_i32(item->n_tokens, request->n_tokens - request->n_computed);
        if (item->n_draft > 0) {
            add_drafts(&load, request, item);
        } else if (n == 1 && request->n_computed >= request->n_prompt) {
            load.n_decodes++;
            load.n_decode_context += request->n_computed + 1;
            load.n_context_most = max_i64(load.n_context_most, request->n_computed + 1);
        } else {
            load.n_new += (int32_t)n;
            load.n_new_squared += n * n;
            load.n_new_context += n * request->n_computed;
        }
    }
    return load;
}

struct perf_load engine_exec_load_of_round(const struct batch *batch,
                                           const struct request *requests, int32_t round)
{
    struct perf_load load = { 0 };
    if (!batch_is_plain(batch)) /* every row costs what the longest costs */
        return perf_load_of_rows(batch_n_rows(batch), round > 0 ? 1 : batch_width(batch),
                                 batch->pads.row_tokens + round);
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct batch_item *item = &batch->items[i];
        const struct request *r = &requests[item->slot];
        struct engine_progress before = { 0 };
        if (round > 0)
            before = engine_exec_progress(r, item->n_tokens, round);
        struct engine_progress after = engine_exec_progress(r, item->n_tokens, round + 1);
        int64_t n = after.n_computed - before.n_computed;
        int64_t n_computed = r->n_computed + before.n_computed;
        if (n == 1 && n_computed >= r->n_prompt) {
            load.n_decodes++;
            load.n_decode_context += n_computed + 1;
            load.n_context_most = max_i64(load.n_context_most, n_computed + 1);
        } else {
            load.n_new += (int32_t)n;
            load.n_new_squared += n * n;
            load.n_new_context += n * n_computed;
        }
    }
    return load;
}
