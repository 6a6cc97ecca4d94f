/* cohort runs the batches that a router composed (request.cohort, n_cohort;
 * docs/ALGORITHMS.md 4.3). One starts when all its members are here, or cohort_ns_wait after the
 * first came. Requests of no cohort are batched as sls does. A router's batch of more than
 * n_seqs_max runs in parts. */
#include "base/time.h"
#include "schedule/policies.h"
#include "schedule/static.h"

/* Reads the cohort that begins with this slot in the tree. Returns the slot after its last
 * member. */
static uint32_t look_at_cohort(const struct schedule_static *b, const struct schedule_view *view,
                               uint32_t slot, struct schedule_static_choice *choice,
                               int64_t *until_ns)
{
    const struct request *first = &view->requests[slot];
    uint64_t seq = UINT64_MAX;
    int64_t seen_ns = INT64_MAX;
    int32_t n = 0;
    bool may_any = false;
    uint32_t at = slot;
    for (; at != TREE_NONE && view->requests[at].cohort == first->cohort;
         at = tree_next(&b->waiting, b->nodes, at)) {
        may_any = may_any || schedule_static_may_run(view, at);
        seq = b->seats[at].seq < seq ? b->seats[at].seq : seq;
        seen_ns = min_i64(seen_ns, b->seats[at].seen_ns);
        n++;
    }
    int64_t ripe_ns = seen_ns + b->config.cohort_ns_wait;
    if (!view->services[first->service].is_open || !may_any || (choice->n > 0 && seq > choice->seq))
        return at;
    if (n < first->n_cohort && ripe_ns > view->now_ns) {
        *until_ns = min_i64(*until_ns, ripe_ns);
        return at;
    }
    *choice = (struct schedule_static_choice){ 0, first->service, seq, choice->slots };
    int32_t n_most = min_i32(b->config.n_seqs_max, LIMIT_BATCH_ITEMS); /* the others go next */
    for (uint32_t k = slot; k != at && choice->n < n_most; k = tree_next(&b->waiting, b->nodes, k))
        if (schedule_static_may_run(view, k))
            choice->slots[choice->n++] = k;
    return at;
}

static void choose(const struct schedule_static *b, const struct schedule_view *view,
                   struct schedule_static_choice *choice, int64_t *until_ns)
{
    schedule_static_choose_first(b, view, true, choice);
    for (uint32_t slot = tree_first(&b->waiting); slot != TREE_NONE;)
        slot = look_at_cohort(b, view, slot, choice, until_ns);
}

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_static_open(state, limits, config, choose);
}

const struct schedule_policy schedule_static_cohort = {
    .name = "cohort",
    .summary = "static padded batches that a router composed, for a slice of tokens (SCLS, UELLM)",
    .chooses = "the batches that the router composed, in order of arrival",
    .batches = "one static batch, padded",
    .memory = "reserved for the slice",
    .starvation = "order of arrival, once all members have come",
    .thresholds = "n_seqs_max static_n_seqs_max cohort_ns_wait",
    .open = open,
    SCHEDULE_STATIC_MECHANISM,
};
