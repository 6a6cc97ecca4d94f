/* Ranks: after random arrivals, starts, preemptions and departures, the trees and lists of waiting
 * and running requests agree with a look at all requests. */
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "schedule/ranks.h"

enum { N_SLOTS = 40, N_SERVICES = 2 };

struct world {
    struct schedule_ranks ranks;
    unsigned char *block;
    struct schedule_service services[N_SERVICES];
    struct request requests[N_SLOTS];
    int64_t keys[N_SLOTS]; /* of those that wait */
    bool may_starve[N_SLOTS];
    uint32_t running[N_SERVICES][N_SLOTS];
    struct schedule_view view;
    struct rng rng;
};

static int64_t draw(struct world *w, uint32_t n)
{
    return (int64_t)rng_below(&w->rng, n);
}

static void world_open(struct world *w, uint64_t seed)
{
    struct schedule_limits limits = { N_SERVICES, N_SLOTS, 1 };
    struct schedule_config config;
    schedule_config_init(&config);
    memset(w, 0, sizeof(*w));
    unsigned char *at = w->block = mem_take(schedule_ranks_bytes(&limits));
    schedule_ranks_open(&w->ranks, &at, &limits, &config, (1U << RANKS_ORDERS) - 1);
    for (int i = 0; i < N_SERVICES; i++) {
        w->services[i] =
            (struct schedule_service){ .running = w->running[i], .solo_ns = 1 + 2 * i };
        w->services[i].perf = (struct perf){ .prefill_scale = 1, .decode_scale = 1 };
    }
    w->view = (struct schedule_view){
        .n_services = N_SERVICES, .n_lanes = 1, .services = w->services, .requests = w->requests
    };
    rng_init(&w->rng, seed, 0);
}

static void begin_waiting(struct world *w, uint32_t slot)
{
    w->requests[slot].state = REQUEST_WAITING;
    w->keys[slot] = draw(w, 5);
    w->may_starve[slot] = draw(w, 4) > 0;
    schedule_ranks_wait(&w->ranks, &w->view, slot, w->keys[slot], w->may_starve[slot]);
}

static void arrive(struct world *w, uint32_t slot)
{
    w->requests[slot] = (struct request){ .service = (uint16_t)draw(w, N_SERVICES),
                                          .n_prompt = 1,
                                          .n_tokens = 1,
                                          .served_ns = draw(w, 5),
                                          .deadline_ns = draw(w, 3) * 100,
                                          .priority = (int16_t)draw(w, 2) };
    schedule_ranks_arrive(&w->ranks, &w->view, slot);
    w->ranks.slots[slot].budget_ps = draw(w, 4) * 1000;
    begin_waiting(w, slot);
}

static void start(struct world *w, uint32_t slot)
{
    struct request *r = &w->requests[slot];
    struct schedule_service *s = &w->services[r->service];
    w->running[r->service][s->n_running++] = slot;
    r->state = REQUEST_RUNNING;
    schedule_ranks_start(&w->ranks, &w->view, slot,
                         schedule_ranks_budget_key(&w->ranks.slots[slot], r->priority));
}

static void leave(struct world *w, uint32_t slot)
{
    struct schedule_service *s = &w->services[w->requests[slot].service];
    uint32_t *running = w->running[w->requests[slot].service];
    uint32_t i = 0;
    while (running[i] != slot)
        i++;
    s->n_running--;
    memmove(&running[i], &running[i + 1], (s->n_running - i) * sizeof(*running));
    schedule_ranks_leave(&w->ranks, &w->view, slot);
}

static void change(struct world *w, uint32_t slot)
{
    struct request *r = &w->requests[slot];
    bool is_over = draw(w, 2) == 0;
    if (r->state == REQUEST_FREE) {
        arrive(w, slot);
    } else if (r->state == REQUEST_WAITING && draw(w, 3) == 0) {
        w->keys[slot] = draw(w, 5);
        schedule_ranks_rekey(&w->ranks, &w->view, slot, w->keys[slot]);
    } else if (r->state == REQUEST_WAITING && is_over) {
        schedule_ranks_stop_waiting(&w->ranks, &w->view, slot);
        r->state = REQUEST_FREE;
    } else if (r->state == REQUEST_WAITING) {
        start(w, slot);
    } else {
        leave(w, slot);
        r->state = REQUEST_FREE;
        if (!is_over)
            begin_waiting(w, slot);
    }
}

/* Waiting requests come in order of (key, arrival), each once. */
static void check_waiting(struct world *w, int service)
{
    uint32_t n = 0, n_waiting = 0, last = SCHEDULE_NONE;
    for (uint32_t slot = 0; slot < N_SLOTS; slot++)
        n_waiting +=
            w->requests[slot].state == REQUEST_WAITING && w->requests[slot].service == service;
    uint32_t slot = schedule_ranks_first_waiting(&w->ranks, &w->view, service);
    for (; slot != SCHEDULE_NONE; slot = schedule_ranks_next_waiting(&w->ranks, &w->view, slot)) {
        assert_true(w->requests[slot].state == REQUEST_WAITING &&
                    w->requests[slot].service == service);
        assert_true(last == SCHEDULE_NONE || w->keys[last] < w->keys[slot] ||
                    (w->keys[last] == w->keys[slot] &&
                     w->ranks.slots[last].seq < w->ranks.slots[slot].seq));
        last = slot;
        n++;
    }
    assert_int_equal(n, n_waiting);
}

/* The first of those that may starve, and of those with a deadline: the least served_ns and the
 * least deadline, since a step takes no time here. */
static void check_trees(struct world *w, int service)
{
    const struct schedule_ranks_service *own = &w->ranks.services[service];
    uint32_t n_unserved = 0, n_urgent = 0;
    int64_t served_ns = INT64_MAX, deadline_ns = INT64_MAX;
    for (uint32_t slot = 0; slot < N_SLOTS; slot++) {
        const struct request *r = &w->requests[slot];
        if (r->state != REQUEST_WAITING || r->service != service)
            continue;
        n_unserved += w->may_starve[slot];
        served_ns = w->may_starve[slot] ? min_i64(served_ns, r->served_ns) : served_ns;
        n_urgent += r->deadline_ns > 0;
        deadline_ns = r->deadline_ns > 0 ? min_i64(deadline_ns, r->deadline_ns) : deadline_ns;
    }
    assert_int_equal(own->unserved.n, n_unserved);
    assert_int_equal(own->urgent.n, n_urgent);
    if (n_unserved > 0)
        assert_int_equal(w->ranks.unserved_nodes[tree_first(&own->unserved)].key, served_ns);
    if (n_urgent > 0)
        assert_int_equal(w->ranks.urgent_nodes[tree_first(&own->urgent)].key, deadline_ns);
}

static void check_running(struct world *w, int service)
{
    const struct schedule_service *s = &w->services[service];
    uint32_t n_deadlines = 0;
    assert_int_equal(w->ranks.services[service].n_running, s->n_running);
    uint32_t last = schedule_ranks_nth_last(&w->ranks, &w->view, service, 0);
    assert_int_equal(last == SCHEDULE_NONE, s->n_running == 0);
    for (uint32_t i = 0; i < s->n_running; i++) {
        n_deadlines += w->requests[s->running[i]].deadline_ns > 0;
        assert_true(s->running[i] == last ||
                    schedule_ranks_is_before(&w->ranks, &w->view, s->running[i], last));
    }
    assert_int_equal(w->ranks.services[service].n_deadlines, n_deadlines);
    assert_true(schedule_ranks_first_is_sound(&w->ranks, &w->view, service));
}

static void ranks_say_what_a_look_says(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, test_seed(5));
    for (int i = 0; i < 20000; i++) {
        change(&w, (uint32_t)draw(&w, N_SLOTS));
        for (int service = 0; service < N_SERVICES; service++) {
            check_waiting(&w, service);
            check_trees(&w, service);
            check_running(&w, service);
        }
    }
    mem_give(w.block);
}

/* By priority, then Q L-hat, then arrival. */
static void the_order_of_requests(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, 1);
    for (uint32_t slot = 0; slot < 4; slot++) {
        w.requests[slot] = (struct request){ .service = slot == 2, .priority = slot == 3 ? -1 : 0 };
        schedule_ranks_arrive(&w.ranks, &w.view, slot);
        w.ranks.slots[slot].budget_ps = 3000;
    }
    w.ranks.slots[2].budget_ps = 1500; /* times 3 */
    w.ranks.slots[3].budget_ps = 100000;
    static const uint32_t order[] = { 3, 0, 1, 2 };
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            assert_int_equal(schedule_ranks_is_before(&w.ranks, &w.view, order[i], order[k]),
                             i < k);
    assert_true(schedule_ranks_key(RANKS_KEY_MAX, 0) < schedule_ranks_key(0, 1));
    assert_true(schedule_ranks_key(INT64_MAX, -1) < schedule_ranks_key(0, 0));
    mem_give(w.block);
}

/* A request with 11 tokens after its first at 5 ns, and 10 ns a token as its target, is due at 105:
 * 25 ns from now. Another has saved more. */
static void decodes_stall_as_long_as_the_tightest_can(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, 1);
    assert_true(schedule_ranks_stall_ps_most(&w.ranks, &w.view) == INT64_MAX);
    w.services[0].tpot_ns = 10;
    w.view.now_ns = 80;
    for (uint32_t slot = 0; slot < 2; slot++) {
        w.requests[slot] =
            (struct request){ .n_prompt = 1, .n_tokens = 12 + (int32_t)slot, .first_ns = 5 };
        schedule_ranks_arrive(&w.ranks, &w.view, slot);
        schedule_ranks_wait(&w.ranks, &w.view, slot, 0, true);
        start(&w, slot);
    }
    assert_int_equal(schedule_ranks_stall_ps_most(&w.ranks, &w.view), 25000);
    w.view.now_ns = 200; /* it is late already */
    assert_int_equal(schedule_ranks_stall_ps_most(&w.ranks, &w.view), 0);
    mem_give(w.block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_say_what_a_look_says),
        cmocka_unit_test(the_order_of_requests),
        cmocka_unit_test(decodes_stall_as_long_as_the_tightest_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
