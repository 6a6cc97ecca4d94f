/* mlfq, the skip-join multi-level feedback queue of FastServe (docs/ALGORITHMS.md 6.5): by level,
 * then by when a request joined the level. A batch is of one service and one phase. A request is
 * charged the time of its batches against the quantum of its level.
 *
 * Starvation: not bounded. A request that was idle for 3 s rises to level 0, checked every 1000
 * batches, which is the paper's rule and not a bound. */
#include "schedule/db.h"
#include "base/time.h"
#include "schedule/policies.h"

enum { LEVEL_MAX = 30, FETCH_AHEAD = 8 };

/* ---- Levels. ---- */

/* Returns the device time that a request may have at its level before it sinks. */
static int64_t quantum_ns(const struct db *db, int level)
{
    return max_i64(min_i64(db->ranks.config.mlfq_ns_quantum, TIME_NS_PER_S), 1) << level;
}

/* Skip-join: a long prompt joins the level whose quantum holds its first batch. */
static void set_level(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    int64_t ps = schedule_work_prefill_ps(&view->services[r->service].perf, r->n_tokens);
    uint8_t level = 0;
    while (level < LEVEL_MAX && quantum_ns(db, level) < ps / 1000)
        level++;
    db->ranks.slots[slot].level = level;
}

static void charge_level(struct db *db, struct schedule_rank *slot, int64_t elapsed_ns)
{
    slot->spent_ps += elapsed_ns * 1000;
    if (slot->spent_ps <= quantum_ns(db, slot->level) * 1000)
        return;
    if (slot->level < LEVEL_MAX)
        slot->level++;
    slot->spent_ps = 0;
    slot->seq = ++db->ranks.seq;
}

/* ---- Orders. ---- */

static unsigned orders(const struct schedule_config *config)
{
    (void)config;
    return 1U << RANKS_BEST | 1U << RANKS_LAST;
}

static int64_t key(const struct db *db, const struct schedule_view *view, uint32_t slot)
{
    return schedule_ranks_key(db->ranks.slots[slot].level, view->requests[slot].priority);
}

static int64_t pick_key(const struct db *db, uint32_t slot)
{
    return db->ranks.slots[slot].level;
}

/* The unserved are those that may rise, which are all except those at the top level. */
static bool may_rise(const struct db *db, uint32_t slot)
{
    return db->ranks.slots[slot].level > 0;
}

/* By priority, then level, then by when it joined the level. */
static bool is_before(const void *state, const struct schedule_view *view, uint32_t a, uint32_t b)
{
    const struct schedule_rank *x = &db_of(state)->ranks.slots[a];
    const struct schedule_rank *y = &db_of(state)->ranks.slots[b];
    int16_t priority_x = view->requests[a].priority, priority_y = view->requests[b].priority;
    if (priority_x != priority_y)
        return priority_x < priority_y;
    return x->level < y->level || (x->level == y->level && x->seq < y->seq);
}

/* ---- Events. ---- */

static void rise(struct db *db, uint32_t slot)
{
    struct schedule_rank *own = &db->ranks.slots[slot];
    own->level = 0;
    own->spent_ps = 0;
    own->seq = ++db->ranks.seq;
}

/* Raises requests that idled for long to the top level, every mlfq_n_steps batches. */
static void raise_idle(struct db *db, const struct schedule_view *view, int64_t now_ns)
{
    int64_t before_ns = now_ns - db->ranks.config.mlfq_ns_idle;
    for (int32_t n = 0; n < schedule_n_busy(view); n++) {
        int i = schedule_busy(view, n);
        const struct schedule_service *s = &view->services[i];
        uint32_t slot;
        while ((slot = tree_first(&db->ranks.services[i].unserved)) != TREE_NONE &&
               view->requests[slot].served_ns <= before_ns) {
            schedule_ranks_stop_waiting(&db->ranks, view, slot);
            rise(db, slot);
            schedule_db_state_wait(db, view, slot);
        }
        for (uint32_t k = 0; k < s->n_running; k++) {
            slot = s->running[k];
            if (db->ranks.slots[slot].level == 0 || view->requests[slot].served_ns > before_ns)
                continue;
            rise(db, slot);
            schedule_db_state_set_key(db, view, slot);
        }
        schedule_ranks_first_look(&db->ranks, view, i);
    }
}

static void charge_levels(struct db *db, const struct schedule_view *view,
                          const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    struct schedule_ranks *ranks = &db->ranks;
    const int64_t block_tokens = view->kv->services[batch->service].block_tokens;
    const int64_t ahead_tokens = ranks->config.ahead_blocks * block_tokens;
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        const struct request *r = &view->requests[slot];
        if (i + FETCH_AHEAD < batch->n_items) {
            __builtin_prefetch(&ranks->slots[batch->items[i + FETCH_AHEAD].slot], 1);
            __builtin_prefetch(&view->requests[batch->items[i + FETCH_AHEAD].slot]);
        }
        charge_level(db, &ranks->slots[slot], event->elapsed_ns);
        schedule_db_state_set_key(db, view, slot);
        ranks->served_ns[slot] = r->served_ns;
        schedule_booked_note(&ranks->services[batch->service].booked, &ranks->slots[slot].booked, r,
                             view->n_table_blocks[slot], block_tokens, ahead_tokens);
    }
}

static void look_for_idle(struct db *db, const struct schedule_view *view,
                          const struct schedule_event *event)
{
    db->n_steps += event->n_steps;
    if (db->n_steps < db->ranks.config.mlfq_n_steps)
        return;
    db->n_steps = 0;
    raise_idle(db, view, event->now_ns);
}

/* A hold ends with the step in which a request sinks to the next level, and when idle
 * requests are searched. So single steps give the same levels. */
static int64_t next_sinking_ns(const struct db *db, const struct schedule_view *view,
                               struct schedule_fill *fill)
{
    int64_t ns = INT64_MAX / 2;
    for (int32_t i = 0; i < fill->batch->n_items; i++) {
        const struct schedule_rank *own = &db->ranks.slots[fill->batch->items[i].slot];
        int64_t left_ns = quantum_ns(db, own->level) - own->spent_ps / 1000;
        ns = min_i64(ns, max_i64(left_ns, 0));
    }
    fill->n_rounds_most = (int32_t)(db->ranks.config.mlfq_n_steps - db->n_steps);
    return view->now_ns + ns + 1;
}

static const struct schedule_db_rules rules = {
    .is_by_phase = true,
    .may_starve = true,
    .keeps_spent = true,
    .orders = orders,
    .key = key,
    .is_before = is_before,
    .pick_key = pick_key,
    .is_unserved = may_rise,
    .until_ns = next_sinking_ns,
    .arrived = set_level,
    .charge = charge_levels,
    .charged = look_for_idle,
};

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, &rules);
}

const struct schedule_policy schedule_db_mlfq = {
    .name = "mlfq",
    .summary = "feedback queues of doubling quanta; long prompts join lower (FastServe)",
    .chooses = "the request on the lowest level that joined its level first",
    .batches = "prompts and decodes in batches of their own",
    .memory = "on demand",
    .starvation =
        "none in general: a flood of short prompts holds up requests that have sunk. A request "
        "that idled for 3 s rises to the top level; these are looked for every 1000 batches",
    .thresholds = SCHEDULE_CONFIG_FILL " mlfq_ns_quantum mlfq_ns_idle mlfq_n_steps",
    .open = open,
    SCHEDULE_DB_MECHANISM,
};
