/* Conservative iteration-level baselines (SCLS section 5, docs/ALGORITHMS.md 6.7).
 *
 *   ils-reserve  Orca-like: a request starts only when the most that it may ever need is free
 * beside what all that run may need, and at most ils_n_seqs_max run. With a predicted length that
 * is reserved instead and doubles when it is exceeded (S3's rule); a request whose larger
 * reservation finds no room is preempted and waits again. ils-fastgen  DeepSpeed-FastGen v0.2.0: at
 * most 768 tokens and 512 sequences a forward, decodes first, prompts split to fill it; a prompt
 * starts only if free blocks cover all of it; when nothing can run the blocks of all requests are
 * given back and computed again (fastgen_flushes_all), or those of the last one only (from 0.2.1).
 *
 * Models take turns. Starvation: first come first served inside a model, turns between them. With
 * ils-reserve a request that runs keeps its blocks, so it waits for the turns of the other models
 * and no longer. No bound is claimed for one that waits for blocks while other models' requests,
 * or those of a higher priority, take them as they fall free. ils-fastgen flushes: no bound is
 * claimed. */
#include "base/time.h"
#include "schedule/fill.h"
#include "schedule/policies.h"

struct ils {
    struct schedule_config config;
    bool is_fastgen;
    int32_t last;
    int64_t n_grown, n_flushed;
    int32_t n_reserved[]; /* (n_requests_max) new tokens that each request has reserved */
};

static size_t state_bytes(const struct schedule_limits *limits)
{
    return sizeof(struct ils) + (size_t)limits->n_requests_max * sizeof(int32_t);
}

static void open_reserve(void *state, const struct schedule_limits *limits,
                         const struct schedule_config *config)
{
    struct ils *ils = state;
    (void)limits;
    *ils = (struct ils){ .config = *config, .last = -1 };
    ils->config.n_seqs_max = config->ils_n_seqs_max;
}

static void open_fastgen(void *state, const struct schedule_limits *limits,
                         const struct schedule_config *config)
{
    struct ils *ils = state;
    (void)limits;
    *ils = (struct ils){ .config = *config, .is_fastgen = true, .last = -1 };
    ils->config.n_seqs_max = config->fastgen_n_seqs_max;
    ils->config.n_batch_tokens_max = ils->config.chunk_tokens = config->fastgen_batch_tokens;
    ils->config.watermark = 0;
}

static int64_t books_all(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct ils *ils = state;
    const struct request *r = &view->requests[slot];
    int64_t n_generated = r->n_tokens - r->n_prompt, n = max_i32(ils->n_reserved[slot], 1);
    while (n < n_generated)
        n *= 2;
    return max_i64(r->n_prompt + n, (int64_t)r->n_tokens + 1);
}

/* FastGen looks at what is free now, not at what those that run will need. */
static int64_t books_nothing(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    (void)state;
    return r->state == REQUEST_RUNNING ? 0 : r->n_tokens;
}

static const struct schedule_booked *booked_nothing(const void *state,
                                                    const struct schedule_view *view, int service)
{
    static const struct schedule_booked nothing = { 0, -1 };
    (void)state;
    (void)view;
    (void)service;
    return &nothing;
}

/* All that run go, when nothing can. */
static void flush(struct schedule_plan *plan, const struct schedule_view *view)
{
    plan->n_preempts = 0;
    for (int32_t i = 0; i < schedule_n_busy(view); i++) {
        const struct schedule_service *s = &view->services[schedule_busy(view, i)];
        for (uint32_t k = 0; k < s->n_running && plan->n_preempts < LIMIT_BATCH_ITEMS; k++) {
            uint32_t slot = s->running[k];
            if (view->requests[slot].batch != 0 || view->n_table_blocks[slot] == 0)
                continue;
            plan->swaps[plan->n_preempts] = false; /* it knows no host pool */
            plan->preempts[plan->n_preempts++] = slot;
        }
    }
}

static void plan(const void *state, const struct schedule_view *view, struct schedule_plan *plan)
{
    const struct ils *ils = state;
    struct schedule_order order = { .state = ils,
                                    .first = schedule_fcfs_first,
                                    .next = schedule_fcfs_next,
                                    .is_before = schedule_fcfs_is_before,
                                    .books = ils->is_fastgen ? books_nothing : books_all,
                                    .booked = ils->is_fastgen ? booked_nothing : NULL };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &ils->config, &order, plan);
    if (!schedule_lane_is_free(view, 0))
        return;
    fill.is_patient = fill.counts_decodes = ils->is_fastgen;
    fill.names_nobody = ils->is_fastgen && ils->config.fastgen_flushes_all;
    bool is_short = false;
    int32_t turn = schedule_turn_after(view, ils->last);
    for (int32_t i = 0; i < schedule_n_busy(view); i++) {
        int service = schedule_in_turn(view, turn, i);
        const struct schedule_service *s = &view->services[service];
        if (s->n_waiting + s->n_running == 0)
            continue;
        enum schedule_filled filled = schedule_fill_serve(&fill, service, FILL_ALL, SCHEDULE_NONE);
        if (filled == FILLED_BATCH) {
            if (ils->is_fastgen)
                order.books = NULL, order.booked = NULL; /* nobody starts in a hold */
            schedule_fill_hold(&fill, TIME_NEVER);
            return;
        }
        is_short |= filled == FILLED_PREEMPTS;
        if (is_short && !ils->is_fastgen)
            return;
    }
    if (is_short && ils->config.fastgen_flushes_all)
        flush(plan, view);
}

static void saw(void *state, const struct schedule_view *view, const struct schedule_event *event)
{
    struct ils *ils = state;
    if (event->what == SCHEDULE_STARTED)
        ils->last = event->batch->service;
    if (event->what == SCHEDULE_PREEMPTED)
        ils->n_flushed += ils->is_fastgen;
    if (event->what != SCHEDULE_ARRIVED && event->what != SCHEDULE_EXCEEDED)
        return;
    const struct request *r = &view->requests[event->slot];
    int32_t *n_reserved = &ils->n_reserved[event->slot];
    if (event->what == SCHEDULE_ARRIVED) {
        int32_t n_most = max_i32(ils->config.ils_new_tokens, r->n_tokens_max - r->n_prompt);
        *n_reserved = r->n_predicted > 0 ? r->n_predicted : n_most;
    } else if (!ils->is_fastgen) {
        ils->n_grown++; /* books_all doubles it */
    }
}

static void report(const void *state, const struct schedule_view *view,
                   struct schedule_report *report)
{
    const struct ils *ils = state;
    (void)view;
    report->n_grown = ils->n_grown;
    report->n_flushed = ils->n_flushed;
}

const struct schedule_policy schedule_ils_reserve = {
    .name = "ils-reserve",
    .summary = "a request starts when the most that it may need is free (Orca)",
    .state_bytes = state_bytes,
    .open = open_reserve,
    .plan = plan,
    .saw = saw,
    .report = report,
};
const struct schedule_policy schedule_ils_fastgen = {
    .name = "ils-fastgen",
    .summary = "split prompts beside decodes; out of blocks everything is computed again (FastGen)",
    .state_bytes = state_bytes,
    .open = open_fastgen,
    .plan = plan,
    .saw = saw,
    .report = report,
};
