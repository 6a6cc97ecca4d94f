/* sls, the static baseline of SCLS (docs/ALGORITHMS.md 6.6): a batch has the first requests of the
 * service that owns the earliest one, at most static_n_seqs_max, without waiting for more. If a
 * router composed batches, it has those of one of them. */
#include "schedule/policies.h"
#include "schedule/static.h"

static void choose(const struct schedule_static *b, const struct schedule_view *view,
                   struct schedule_static_choice *choice, int64_t *until_ns)
{
    (void)until_ns;
    schedule_static_choose_first(b, view, false, choice);
}

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_static_open(state, limits, config, choose);
}

const struct schedule_policy schedule_static_sls = {
    .name = "sls",
    .summary = "static padded batches in order of arrival, each until its last member has ended",
    .chooses = "the model with the earliest request",
    .batches = "one static batch, padded",
    .memory = "reserved for the whole batch",
    .starvation = "order of arrival",
    .thresholds = "static_n_seqs_max",
    .open = open,
    SCHEDULE_STATIC_MECHANISM,
};
