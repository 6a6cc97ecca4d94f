/* Decodes that are advanced together: an engine that does it is at any time, records, tables and
 * pool, what one is that looks at every request in every step. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "engine/state.h"

enum { N_REQUESTS = 40, ROUND_NS = 1000000 };

struct runner { /* an executor: every round of every batch takes a millisecond */
    const int64_t *clock_ns;
    const struct request *requests;
    struct batch batch;
    int n_rounds;
    int64_t begin_ns;
    bool is_on;
    int64_t n_steady; /* rounds of steady requests that it saw */
    struct perf_load load;
    int32_t n_new[LIMIT_BATCH_ITEMS];
};

static void attach(void *self, const struct engine_exec_view *view)
{
    ((struct runner *)self)->requests = view->requests;
}

static void begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    struct runner *x = self;
    CHECK(!x->is_on && n_batches == 1);
    x->batch = batches[0];
    x->load = engine_exec_load(&x->batch, x->requests);
    x->n_rounds = n_rounds;
    x->begin_ns = *x->clock_ns;
    x->is_on = true;
}

static void cut(void *self, uint16_t lane)
{
    struct runner *x = self;
    int64_t n = div_up_i64(*x->clock_ns - x->begin_ns, ROUND_NS);
    CHECK(lane == 0 && x->is_on);
    x->n_rounds = (int)max_i64(1, min_i64(n, x->n_rounds));
}

static int64_t next_ns(void *self)
{
    const struct runner *x = self;
    return x->is_on ? x->begin_ns + x->n_rounds * (int64_t)ROUND_NS : TIME_NEVER;
}

static bool poll(void *self, struct engine_exec_done *done)
{
    struct runner *x = self;
    int64_t end_ns = next_ns(x);
    if (end_ns > *x->clock_ns)
        return false;
    for (int32_t i = 0; i < x->batch.n_items; i++) {
        const struct batch_item *item = &x->batch.items[i];
        x->n_new[i] =
            i < x->batch.n_steady
                ? x->n_rounds
                : engine_exec_progress(&x->requests[item->slot], item->n_tokens, x->n_rounds).n_new;
    }
    x->n_steady += (int64_t)x->batch.n_steady * x->n_rounds;
    x->is_on = false;
    *done = (struct engine_exec_done){ .batch = x->batch.id,
                                       .n_steps = x->n_rounds,
                                       .begin_ns = x->begin_ns,
                                       .end_ns = end_ns,
                                       .n_new = x->n_new };
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    (void)payload;
    *(int64_t *)self += event->what == SERVICE_ENDED;
    return true;
}

struct twin {
    struct engine *engine;
    struct runner runner;
    int64_t n_ended, wake_ns;
};

static void open_twin(struct twin *twin, const struct schedule_policy *policy, bool is_named,
                      bool says_little, const int64_t *clock_ns)
{
    const struct perf perf = { .c1_ps = 1000,
                               .c3_ps = { 1000, 1000 },
                               .k2_ps = { 1, 1 },
                               .b_switch = 9,
                               .prefill_scale = 1,
                               .decode_scale = 1 };
    const struct kv_layout layouts[] = { { 10, 8, is_named ? 3 : 1, 80 },
                                         { 10, 8, is_named ? 3 : 1, 80 } };
    const struct service_spec services[2] = { { .name = "a" }, { .name = "b" } };
    struct schedule_config config;
    schedule_config_init(&config);
    config.chunk_tokens = 16;
    config.n_seqs_max = 12;
    config.ahead_blocks = 0;
    *twin = (struct twin){ .runner = { .clock_ns = clock_ns }, .wake_ns = TIME_NEVER };
    twin->engine = engine_open(&(struct engine_options){
        .memory_bytes = 240 * 40,
        .n_requests_max = N_REQUESTS,
        .n_tokens_max = 200,
        .n_lanes = 1,
        .n_services = 2,
        .services = services,
        .layouts = layouts,
        .kv_unit_bytes = is_named ? 240 : 80,
        .is_virtual = true,
        .policy = policy,
        .config = &config,
        .exec = { &twin->runner, attach, begin, cut, poll, wait_fd, next_ns },
        .says_little = says_little,
        .emit = emit,
        .emit_self = &twin->n_ended,
    });
    engine_open_service(twin->engine, 0, &perf, 0);
    engine_open_service(twin->engine, 1, &perf, 0);
    assert_int_equal(twin->engine->steady != NULL, says_little);
    assert_int_equal(kv_is_counted(twin->engine->kv), !is_named);
}

static void assert_same(struct twin *a, struct twin *b)
{
    struct engine *x = a->engine, *y = b->engine;
    assert_true(engine_is_sound(x) && engine_is_sound(y));
    assert_int_equal(a->wake_ns, b->wake_ns);
    assert_int_equal(a->n_ended, b->n_ended);
    const struct perf_load *l = &a->runner.load, *m = &b->runner.load;
    assert_true(l->n_decodes == m->n_decodes && l->n_decode_context == m->n_decode_context);
    assert_true(l->n_new == m->n_new && l->n_context_most == m->n_context_most);
    assert_memory_equal(kv_budget(x->kv), kv_budget(y->kv),
                        offsetof(struct kv_budget, services) +
                            2 * sizeof(struct kv_budget_service));
    for (uint32_t slot = 0; slot < N_REQUESTS; slot++) {
        const struct request *r = &x->requests[slot], *s = &y->requests[slot];
        assert_int_equal(r->state, s->state);
        if (r->state == REQUEST_FREE)
            continue;
        assert_true(r->id == s->id && r->n_tokens == s->n_tokens);
        assert_true(r->n_computed == s->n_computed && r->served_ns == s->served_ns);
        assert_true(r->first_ns == s->first_ns && r->n_preempted == s->n_preempted);
        assert_int_equal(x->n_table_blocks[slot], y->n_table_blocks[slot]);
    }
}

/* Both hear the same at the same time. Returns how many gave way. */
static int64_t run_twins(const struct schedule_policy *policy, bool is_named, uint64_t seed)
{
    struct twin a, b;
    struct rng rng;
    int64_t clock_ns = 0, n_preempted = 0;
    uint64_t n_asked = 0;
    rng_init(&rng, seed, 1);
    open_twin(&a, policy, is_named, true, &clock_ns);
    open_twin(&b, policy, is_named, false, &clock_ns);
    for (int64_t at_ns = 0; n_asked < 300 || a.n_ended < 300;) {
        bool asks = n_asked < 300 && at_ns <= min_i64(a.wake_ns, TIME_NEVER - 1);
        clock_ns = asks ? at_ns : a.wake_ns;
        assert_true(clock_ns < TIME_NEVER);
        if (asks) {
            int32_t n_prompt = 1 + (int32_t)rng_below(&rng, 60);
            int32_t n_new = 1 + (int32_t)rng_below(&rng, 80);
            struct request r = { .id = ++n_asked,
                                 .service = (uint16_t)rng_below(&rng, 2),
                                 .n_prompt = n_prompt,
                                 .n_tokens = n_prompt,
                                 .n_tokens_max = n_prompt + n_new,
                                 .n_predicted = (int32_t)rng_below(&rng, 90),
                                 .arrived_ns = clock_ns,
                                 .deadline_ns = TIME_NEVER };
            if (rng_below(&rng, 20) == 0)
                r.deadline_ns = clock_ns + 20 * ROUND_NS;
            assert_true(engine_submit(a.engine, &r, NULL, clock_ns));
            assert_true(engine_submit(b.engine, &r, NULL, clock_ns));
            if (rng_below(&rng, 8) == 0) {
                uint64_t id = (uint64_t)max_i64((int64_t)n_asked - rng_below(&rng, 9), 1);
                engine_cancel(a.engine, id, 0, clock_ns);
                engine_cancel(b.engine, id, 0, clock_ns);
            }
            at_ns += (int64_t)rng_below(&rng, 6 * ROUND_NS);
        }
        a.wake_ns = engine_step(a.engine, clock_ns);
        b.wake_ns = engine_step(b.engine, clock_ns);
        if (rng_below(&rng, 3) == 0)
            assert_same(&a, &b);
        if (n_asked >= 300 && a.wake_ns == TIME_NEVER)
            break;
    }
    assert_same(&a, &b);
    assert_true(engine_is_idle(a.engine) && engine_is_idle(b.engine));
    assert_true(a.runner.n_steady > 1000 && b.runner.n_steady == 0);
    for (int i = 0; i < 2; i++)
        n_preempted += a.engine->stats[i].n_preempted;
    engine_close(a.engine);
    engine_close(b.engine);
    return n_preempted;
}

static void together_is_one_by_one(void **state)
{
    static const char *const names[] = { "fcfs", "rr", "db-turn", "value" };
    uint64_t seed = test_seed(1);
    int64_t n_preempted = 0;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (uint64_t k = 0; k < 10; k++) {
            n_preempted += run_twins(schedule_find(names[i]), false, seed + k);
            n_preempted += run_twins(schedule_find(names[i]), true, seed + k);
        }
    assert_true(n_preempted > 20);
}

int main(void)
{
    base_verify = true;
    const struct CMUnitTest tests[] = { cmocka_unit_test(together_is_one_by_one) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
