/* ils-reserve, a conservative iteration-level baseline like Orca (SCLS section 5,
 * docs/ALGORITHMS.md 6.7). A request starts only when the most that it may ever need is free beside
 * the most that the running ones may need. At most ils_n_seqs_max run. With a predicted length that
 * is reserved instead, and doubles when it is exceeded (S^3's rule). A request whose larger
 * reservation finds no room is preempted and waits again.
 *
 * Starvation: first come, first served within a model, turns between models. A running request
 * keeps its blocks, so it waits only for the turns of the other models. No bound is claimed for a
 * request that waits for blocks while other models' requests, or those of a higher priority, take
 * them as they become free. */
#include "schedule/fcfs.h"
#include "schedule/hold.h"
#include "schedule/policies.h"

struct ils {
    struct schedule_config config;
    int32_t last;
    int64_t n_grown;
    int32_t n_reserved[]; /* (n_requests_max) new tokens that each request has reserved */
};

static size_t state_bytes(const struct schedule_limits *limits)
{
    return sizeof(struct ils) + (size_t)limits->n_requests_max * sizeof(int32_t);
}

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    struct ils *ils = state;
    (void)limits;
    *ils = (struct ils){ .config = *config, .last = -1 };
    ils->config.n_seqs_max = config->ils_n_seqs_max;
}

static int64_t books(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct ils *ils = state;
    const struct request *r = &view->requests[slot];
    int64_t n_generated = r->n_tokens - r->n_prompt, n = max_i32(ils->n_reserved[slot], 1);
    while (n < n_generated)
        n *= 2;
    return max_i64(r->n_prompt + n, (int64_t)r->n_tokens + 1);
}

static void plan(const void *state, const struct schedule_view *view, struct schedule_plan *plan)
{
    const struct ils *ils = state;
    struct schedule_order order = { .state = ils,
                                    .first = schedule_fcfs_first,
                                    .next = schedule_fcfs_next,
                                    .is_before = schedule_fcfs_is_before,
                                    .books = books };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &ils->config, &order, plan);
    if (schedule_lane_is_free(view, 0))
        schedule_hold_turn(&fill, ils->last);
}

static void saw(void *state, const struct schedule_view *view, const struct schedule_event *event)
{
    struct ils *ils = state;
    const struct request *r = &view->requests[event->slot];
    if (event->what == SCHEDULE_STARTED)
        ils->last = event->batch->service;
    if (event->what == SCHEDULE_ARRIVED)
        ils->n_reserved[event->slot] =
            r->n_predicted > 0 ? r->n_predicted
                               : max_i32(ils->config.ils_new_tokens, r->n_tokens_max - r->n_prompt);
    if (event->what == SCHEDULE_EXCEEDED)
        ils->n_grown++; /* books doubles it */
}

static void report(const void *state, const struct schedule_view *view,
                   struct schedule_report *report)
{
    const struct ils *ils = state;
    (void)view;
    report->n_grown = ils->n_grown;
}

const struct schedule_policy schedule_ils_reserve = {
    .name = "ils-reserve",
    .summary = "a request starts when the most that it may need is free (Orca)",
    .chooses = "models in turn",
    .batches = "prompts first, or prompts in chunks beside decodes",
    .memory = "reserved for the whole request",
    .starvation =
        "a running request gets a turn in each round, and requests of one model start in order "
        "of arrival. A request whose blocks other models take has no bound",
    .thresholds = SCHEDULE_CONFIG_FILL " ils_new_tokens ils_n_seqs_max",
    .state_bytes = state_bytes,
    .open = open,
    .plan = plan,
    .saw = saw,
    .report = report,
};
