/* ils-fastgen, DeepSpeed-FastGen v0.2.0 as SCLS compares with it (SCLS section 5,
 * docs/ALGORITHMS.md 6.7). A forward has at most 768 tokens and 512 sequences, decodes first, and
 * prompts are split to fill it. A prompt starts only if free blocks cover all of it. When nothing
 * can run, the blocks of all requests are given back and computed again (fastgen_flushes_all), or
 * those of the last one only (from 0.2.1).
 *
 * Starvation: first come, first served within a model, turns between models. It flushes, so no
 * bound is claimed. */
#include "base/time.h"
#include "schedule/fcfs.h"
#include "schedule/fill.h"
#include "schedule/hold.h"
#include "schedule/policies.h"

struct ils {
    struct schedule_config config;
    int32_t last;
    int64_t n_flushed;
};

static size_t state_bytes(const struct schedule_limits *limits)
{
    (void)limits;
    return sizeof(struct ils);
}

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    struct ils *ils = state;
    (void)limits;
    *ils = (struct ils){ .config = *config, .last = -1 };
    ils->config.n_seqs_max = config->fastgen_n_seqs_max;
    ils->config.n_batch_tokens_max = ils->config.chunk_tokens = config->fastgen_batch_tokens;
    ils->config.watermark = 0;
}

/* FastGen checks what is free now, not what running requests will need. */
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

/* Gives back the blocks of all that run, when nothing can. */
static void flush(struct schedule_plan *plan, const struct schedule_view *view)
{
    plan->n_preempts = 0;
    for (int32_t i = 0; i < schedule_n_busy(view); i++) {
        const struct schedule_service *s = &view->services[schedule_busy(view, i)];
        for (uint32_t k = 0; k < s->n_running && plan->n_preempts < LIMIT_BATCH_ITEMS; k++) {
            uint32_t slot = s->running[k];
            if (view->requests[slot].batch != 0 || view->n_table_blocks[slot] == 0)
                continue;
            plan->swaps[plan->n_preempts] = false; /* FastGen has no host pool */
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
                                    .books = books_nothing,
                                    .booked = booked_nothing };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &ils->config, &order, plan);
    if (!schedule_lane_is_free(view, 0))
        return;
    fill.is_patient = fill.counts_decodes = true;
    fill.names_nobody = ils->config.fastgen_flushes_all;
    bool is_short = false;
    int32_t turn = schedule_turn_after(view, ils->last);
    for (int32_t i = 0; i < schedule_n_busy(view); i++) {
        int service = schedule_in_turn(view, turn, i);
        const struct schedule_service *s = &view->services[service];
        if (s->n_waiting + s->n_running == 0)
            continue;
        enum schedule_filled filled = schedule_fill_serve(&fill, service, FILL_ALL, SCHEDULE_NONE);
        if (filled == FILLED_BATCH) {
            order.books = NULL, order.booked = NULL; /* no request starts in a hold */
            schedule_hold(&fill, TIME_NEVER);
            return;
        }
        is_short |= filled == FILLED_PREEMPTS;
    }
    if (is_short && ils->config.fastgen_flushes_all)
        flush(plan, view);
}

static void saw(void *state, const struct schedule_view *view, const struct schedule_event *event)
{
    struct ils *ils = state;
    (void)view;
    if (event->what == SCHEDULE_STARTED)
        ils->last = event->batch->service;
    if (event->what == SCHEDULE_PREEMPTED)
        ils->n_flushed++;
}

static void report(const void *state, const struct schedule_view *view,
                   struct schedule_report *report)
{
    const struct ils *ils = state;
    (void)view;
    report->n_flushed = ils->n_flushed;
}

const struct schedule_policy schedule_ils_fastgen = {
    .name = "ils-fastgen",
    .summary = "split prompts beside decodes; out of blocks everything is computed again (FastGen)",
    .chooses = "models in turn",
    .batches = "split prompts beside decodes",
    .memory = "on demand; out of blocks, all are given back",
    .starvation =
        "none: in a full pool the same request may be flushed again and again (27 times in the "
        "test)",
    .thresholds =
        SCHEDULE_CONFIG_FILL " fastgen_batch_tokens fastgen_n_seqs_max fastgen_flushes_all",
    .state_bytes = state_bytes,
    .open = open,
    .plan = plan,
    .saw = saw,
    .report = report,
};
