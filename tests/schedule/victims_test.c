/* Victims: the requests that an order knows to be last give the same result as a look at all. */
#include "test.h"
#include "base/rng.h"
#include "schedule/fill.h"

enum { N_SERVICES = 3, N_SLOTS = 60, BLOCK = 8 };

struct world {
    struct schedule_service services[N_SERVICES];
    struct request requests[N_SLOTS];
    uint32_t running[N_SERVICES][N_SLOTS];
    int32_t n_table_blocks[N_SLOTS];
    bool may_go[N_SLOTS];
    uint32_t rank[N_SLOTS];    /* lower goes before */
    int64_t since_ns[N_SLOTS]; /* INT64_MAX: it is in no residence */
    struct kv_budget kv;
    struct schedule_view view;
    struct schedule_config config;
    uint32_t n_known;
};

static bool is_before(const void *state, const struct schedule_view *view, uint32_t a, uint32_t b)
{
    const struct world *w = state;
    const struct request *x = &view->requests[a], *y = &view->requests[b];
    if (x->priority != y->priority)
        return x->priority < y->priority;
    return w->rank[a] < w->rank[b];
}

/* The n-th last of the service, the slow way. Only the first n_known are known. */
static uint32_t nth_last(const void *state, const struct schedule_view *view, int service,
                         uint32_t n)
{
    const struct world *w = state;
    const struct schedule_service *s = &view->services[service];
    for (uint32_t i = 0; i < s->n_running && n < w->n_known; i++) {
        uint32_t n_after = 0;
        for (uint32_t k = 0; k < s->n_running; k++)
            n_after += is_before(w, view, s->running[i], s->running[k]);
        if (n_after == n)
            return s->running[i];
    }
    return SCHEDULE_NONE;
}

static bool may_go(const void *state, const struct schedule_view *view, uint32_t slot)
{
    (void)view;
    return ((const struct world *)state)->may_go[slot];
}

static int64_t resides_since(const void *state, const struct schedule_view *view, uint32_t slot)
{
    (void)view;
    return ((const struct world *)state)->since_ns[slot];
}

static int find_who_may(const void *state, const struct schedule_view *view, int service,
                        schedule_may_go may, uint32_t *slots)
{
    const struct schedule_service *s = &view->services[service];
    int n = 0;
    for (uint32_t i = 0; i < s->n_running; i++)
        if (may(state, view, s->running[i])) {
            if (n == FILL_KNOWN_MAX)
                return -1;
            slots[n++] = s->running[i];
        }
    return n;
}

static void make_world(struct world *w, struct rng *rng)
{
    memset(w, 0, sizeof(*w));
    schedule_config_init(&w->config);
    w->n_known = rng_below(rng, 12);
    w->kv = (struct kv_budget){ .n_services = N_SERVICES, .n_units_open = 400 };
    for (int i = 0; i < N_SERVICES; i++) {
        w->services[i] = (struct schedule_service){ .is_open = true, .running = w->running[i] };
        w->kv.services[i] = (struct kv_budget_service){ .block_tokens = BLOCK,
                                                        .blocks_per_unit = 1 + i,
                                                        .n_units = (int64_t)rng_below(rng, 50),
                                                        .n_units_max = 400 };
        if (rng_below(rng, 4) == 0)
            w->kv.services[i].n_units_min = 30;
    }
    uint32_t n_may = 1 + rng_below(rng, 6), n_others = 1 + rng_below(rng, 30);
    for (uint32_t slot = 0; slot < N_SLOTS; slot++) {
        uint16_t service = (uint16_t)rng_below(rng, N_SERVICES);
        struct schedule_service *s = &w->services[service];
        w->requests[slot] = (struct request){ .service = service, .state = REQUEST_RUNNING };
        w->requests[slot].priority = (int16_t)rng_below(rng, 2);
        w->requests[slot].batch = rng_below(rng, 8) == 0;
        w->n_table_blocks[slot] = (int32_t)rng_below(rng, 6);
        w->may_go[slot] = rng_below(rng, n_may) == 0;
        w->rank[slot] = rng_below(rng, 1000) << 8 | slot;
        bool resides = rng_below(rng, n_others) > 0;
        w->since_ns[slot] = resides ? rng_below(rng, 1000) << 8 | slot : INT64_MAX;
        w->running[service][s->n_running++] = slot;
    }
    w->view = (struct schedule_view){ .n_services = N_SERVICES,
                                      .n_lanes = 1,
                                      .services = w->services,
                                      .requests = w->requests,
                                      .n_table_blocks = w->n_table_blocks,
                                      .kv = &w->kv };
}

struct victims {
    bool is_found;
    int32_t n;
    uint32_t slots[LIMIT_BATCH_ITEMS];
    bool swaps[LIMIT_BATCH_ITEMS];
};

static void find(const struct world *w, const struct schedule_order *order, int64_t n_blocks,
                 bool asks, struct victims *victims)
{
    static struct batch batches[LIMIT_BATCHES];
    static struct batch_item items[LIMIT_BATCH_ITEMS];
    struct schedule_plan plan = { .batches = batches,
                                  .items = items,
                                  .n_items_max = LIMIT_BATCH_ITEMS,
                                  .preempts = victims->slots,
                                  .swaps = victims->swaps };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, &w->view, &w->config, order, &plan);
    victims->is_found = schedule_fill_preempt(&fill, 0, n_blocks, 7, asks ? may_go : NULL);
    victims->n = plan.n_preempts;
}

static void known_and_looked_for_are_the_same(void **state)
{
    struct rng rng;
    int64_t n_found = 0;
    (void)state;
    rng_init(&rng, test_seed(11), 0);
    for (int round = 0; round < 3000; round++) {
        static struct victims known, looked_for;
        struct world w;
        make_world(&w, &rng);
        struct schedule_order order = { .state = &w, .is_before = is_before };
        order.spares_service = rng_below(&rng, 2) == 0;
        order.resides_since = rng_below(&rng, 2) == 0 ? resides_since : NULL;
        int64_t n_blocks = 1 + (int64_t)rng_below(&rng, round % 3 == 0 ? 200 : 12);
        bool asks = rng_below(&rng, 2) == 0;
        find(&w, &order, n_blocks, asks, &looked_for);
        order.nth_last = nth_last;
        order.find_who_may = find_who_may;
        find(&w, &order, n_blocks, asks, &known);
        assert_int_equal(known.is_found, looked_for.is_found);
        assert_int_equal(known.n, looked_for.n);
        for (int32_t i = 0; i < known.n; i++)
            assert_int_equal(known.slots[i], looked_for.slots[i]);
        for (int32_t i = 0; i < known.n; i++) { /* and all of them may go */
            assert_int_equal(w.requests[known.slots[i]].batch, 0);
            assert_true(w.n_table_blocks[known.slots[i]] > 0 && known.slots[i] != 7);
            assert_true(!asks || w.may_go[known.slots[i]]);
        }
        n_found += known.n;
    }
    assert_true(n_found > 3000);
}

static bool is_candidate(const struct world *w, uint32_t slot, bool resides)
{
    return w->requests[slot].batch == 0 && w->n_table_blocks[slot] > 0 && slot != 7 &&
           (w->since_ns[slot] != INT64_MAX) == resides;
}

/* Requests in their residence give way only when no other request can: those that starve for the
 * shortest time first, and none to one that may_go chooses. */
static void residents_give_way_last(void **state)
{
    struct rng rng;
    int64_t n_of_others = 0, n_of_residents = 0;
    (void)state;
    rng_init(&rng, test_seed(12), 0);
    for (int round = 0; round < 3000; round++) {
        static struct victims victims;
        struct world w;
        make_world(&w, &rng);
        struct schedule_order order = { .state = &w,
                                        .is_before = is_before,
                                        .nth_last = nth_last,
                                        .resides_since = resides_since };
        bool asks = rng_below(&rng, 4) == 0, others_may = false;
        for (int i = 0; i < N_SERVICES; i++)
            w.kv.services[i].n_units_min = -1; /* units of all services help */
        for (uint32_t slot = 0; slot < N_SLOTS; slot++)
            others_may |= is_candidate(&w, slot, false) && (!asks || w.may_go[slot]);
        find(&w, &order, 1 + (int64_t)rng_below(&rng, 12), asks, &victims);
        int64_t before_ns = INT64_MAX;
        for (int32_t i = 0; i < victims.n; i++) {
            int64_t since_ns = w.since_ns[victims.slots[i]];
            assert_true(is_candidate(&w, victims.slots[i], !others_may));
            assert_true(others_may || (since_ns < before_ns && !asks));
            before_ns = since_ns;
        }
        for (uint32_t slot = 0; slot < N_SLOTS && victims.n > 0 && !others_may; slot++)
            assert_true(!is_candidate(&w, slot, true) ||
                        w.since_ns[slot] <= w.since_ns[victims.slots[0]]);
        n_of_others += others_may ? victims.n : 0;
        n_of_residents += others_may ? 0 : victims.n;
    }
    assert_true(n_of_others > 1000 && n_of_residents > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_and_looked_for_are_the_same),
        cmocka_unit_test(residents_give_way_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
