/* db-exact is equation 7 of SeaLLM with known lengths, predicted by an oracle: the remaining time
 * alone, times L-hat. It is a bound, not a policy to serve with. */
#include "schedule/db.h"
#include "schedule/charge.h"
#include "schedule/policies.h"

static int64_t remaining_ps(const struct db *db, const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    return schedule_work_remaining_ps(&db->ranks.services[r->service].price, view, r);
}

static void set_remaining(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    db->ranks.slots[slot].budget_ps = remaining_ps(db, view, slot);
}

/* Notes the remaining work of each member, whatever it has done. */
static void charge(struct db *db, const struct schedule_view *view,
                   const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    schedule_charge_batch(&db->ranks, view, event);
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        set_remaining(db, view, slot);
        schedule_db_state_set_key(db, view, slot);
    }
}

static const struct schedule_db_rules rules = {
    .arrived = set_remaining,
    .preempted = set_remaining /* its tokens are to be computed again */,
    .charge = charge,
};

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, &rules);
}

const struct schedule_policy schedule_db_exact = {
    .name = "db-exact",
    .summary = "remaining time alone, from predicted lengths, times the model's mean: a bound",
    .chooses = "the model whose request has the least remaining time times L-hat",
    .batches = "prompts first, or prompts in chunks beside decodes",
    .memory = "on demand",
    .starvation = "bounded",
    .thresholds = SCHEDULE_CONFIG_FILL SCHEDULE_CONFIG_STARVE " db_counts_wall",
    .open = open,
    SCHEDULE_DB_MECHANISM,
};
