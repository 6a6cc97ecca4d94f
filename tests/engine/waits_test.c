/* The times of tokens that an engine reports which says little and holds, are those that a listener
 * notes when an engine plans every step and tells it each token. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "engine/state.h"
#include <string.h>

enum { N_REQUESTS = 120, N_ASKED = 120, ROUNDS_MAX = 4096 };

struct runner { /* an executor whose rounds take a time that depends on when they begin */
    const int64_t *clock_ns;
    const struct request *requests;
    struct batch batch;
    int n_rounds;
    int64_t ends_ns[ROUNDS_MAX + 1]; /* [0]: the beginning */
    bool is_on;
    int64_t n_held;
    int32_t n_new[LIMIT_BATCH_ITEMS];
};
struct heard {
    int64_t first_ns, last_ns, gap_ns_max;
    int32_t n_tokens;
    bool is_over;
};
struct twin {
    struct engine *engine;
    struct runner runner;
    struct heard heard[N_ASKED + 1];
    int64_t wake_ns;
    bool says_little;
};

static void attach(void *self, const struct engine_exec_view *view)
{
    ((struct runner *)self)->requests = view->requests;
}

static void begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    struct runner *x = self;
    CHECK(!x->is_on && n_batches == 1 && n_rounds <= ROUNDS_MAX);
    x->batch = batches[0];
    x->n_rounds = n_rounds;
    x->n_held += n_rounds > 1;
    x->ends_ns[0] = *x->clock_ns;
    for (int i = 0; i < n_rounds; i++)
        x->ends_ns[i + 1] =
            x->ends_ns[i] + 1 + (int64_t)(rng_at(7, (uint64_t)x->ends_ns[i], 0) % 1000);
    x->is_on = true;
}

static void cut(void *self, uint16_t lane)
{
    struct runner *x = self;
    int n = 1;
    CHECK(lane == 0 && x->is_on);
    while (n < x->n_rounds && x->ends_ns[n] < *x->clock_ns)
        n++;
    x->n_rounds = n;
}

static void stop(void *self, uint16_t lane)
{
    struct runner *x = self;
    CHECK(lane == 0);
    while (x->n_rounds > 1 && x->ends_ns[x->n_rounds] > *x->clock_ns)
        x->n_rounds--;
}

static int64_t next_ns(void *self)
{
    const struct runner *x = self;
    return x->is_on ? x->ends_ns[x->n_rounds] : TIME_NEVER;
}

static bool poll(void *self, struct engine_exec_done *done)
{
    struct runner *x = self;
    if (next_ns(x) > *x->clock_ns)
        return false;
    for (int32_t i = 0; i < x->batch.n_items; i++) {
        const struct batch_item *item = &x->batch.items[i];
        x->n_new[i] =
            engine_exec_progress(&x->requests[item->slot], item->n_tokens, x->n_rounds).n_new;
    }
    x->is_on = false;
    *done = (struct engine_exec_done){ .batch = x->batch.id,
                                       .n_steps = x->n_rounds,
                                       .begin_ns = x->ends_ns[0],
                                       .end_ns = x->ends_ns[x->n_rounds],
                                       .n_new = x->n_new };
    return true;
}

static void rounds(void *self, int32_t from, int64_t *first_ns, int64_t *gap_ns)
{
    const struct runner *x = self;
    *first_ns = x->ends_ns[from];
    *gap_ns = 0;
    for (int i = from + 1; i <= x->n_rounds; i++)
        *gap_ns = max_i64(*gap_ns, x->ends_ns[i] - x->ends_ns[i - 1]);
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    struct twin *twin = self;
    struct heard *heard = &twin->heard[event->id];
    int64_t now_ns = *twin->runner.clock_ns;
    assert_true((payload != NULL) == twin->says_little);
    assert_int_equal(event->n_bytes, twin->says_little ? (int)sizeof(struct engine_waits) : 0);
    if (twin->says_little) {
        const struct engine_waits *waits = payload;
        heard->first_ns = waits->first_ns;
        heard->last_ns = waits->last_ns;
        heard->gap_ns_max = waits->gap_ns_max;
    } else if (event->what == SERVICE_TOKENS) {
        if (heard->first_ns == 0)
            heard->first_ns = now_ns;
        else
            heard->gap_ns_max = max_i64(heard->gap_ns_max, now_ns - heard->last_ns);
        heard->last_ns = now_ns;
    }
    heard->n_tokens += event->what == SERVICE_TOKENS ? event->n_tokens : 0;
    heard->is_over |= event->what == SERVICE_ENDED;
    return true;
}

static void open_twin(struct twin *twin, const struct schedule_policy *policy, bool says_little,
                      const int64_t *clock_ns)
{
    const struct perf perf = {
        .c1_ps = 1000, .c3_ps = { 1000, 1000 }, .b_switch = 9, .prefill_scale = 1, .decode_scale = 1
    };
    const struct kv_layout layout = { 10, 8, 1, 80 };
    const struct service_spec service = { .name = "a" };
    struct schedule_config config;
    schedule_config_init(&config);
    config.chunk_tokens = 16;
    config.ahead_blocks = 0;
    config.n_rounds_max = says_little ? ROUNDS_MAX : 1;
    *twin = (struct twin){ .wake_ns = TIME_NEVER, .says_little = says_little };
    twin->runner.clock_ns = clock_ns;
    twin->engine = engine_open(&(struct engine_options){
        .memory_bytes = 80 * 60,
        .n_requests_max = N_REQUESTS,
        .n_tokens_max = 200,
        .n_lanes = 1,
        .n_services = 1,
        .services = &service,
        .layouts = &layout,
        .kv_unit_bytes = 80,
        .is_virtual = true,
        .policy = policy,
        .config = &config,
        .exec = { &twin->runner, attach, begin, cut, poll, wait_fd, next_ns, rounds, stop },
        .says_little = says_little,
        .tells_waits = says_little,
        .emit = emit,
        .emit_self = twin,
    });
    engine_open_service(twin->engine, 0, &perf, 0);
}

static void step(struct twin *twin, int64_t clock_ns)
{
    if (twin->wake_ns <= clock_ns)
        twin->wake_ns = engine_step(twin->engine, clock_ns);
}

static struct request ask(struct rng *rng, uint64_t id, int64_t now_ns)
{
    int32_t n_prompt = 1 + (int32_t)rng_below(rng, 60), n_new = 1 + (int32_t)rng_below(rng, 80);
    int32_t n_lease = rng_below(rng, 4) == 0 ? n_new + 1 : 0;
    return (struct request){ .id = id,
                             .n_prompt = n_prompt,
                             .n_tokens = n_prompt,
                             .n_tokens_max = n_prompt + n_new,
                             .n_lease = n_lease,
                             .arrived_ns = now_ns,
                             .deadline_ns = TIME_NEVER };
}

static void run_twins(const struct schedule_policy *policy, uint64_t seed, bool stops,
                      int64_t *n_held)
{
    struct twin *twins = mem_take(2 * sizeof(*twins));
    struct rng rng;
    int64_t clock_ns = 1, arrival_ns = 1;
    uint64_t n_asked = 0;
    rng_init(&rng, seed, 1);
    for (int i = 0; i < 2; i++)
        open_twin(&twins[i], policy, i == 0, &clock_ns);
    int64_t end_ns = stops ? 2000 + (int64_t)rng_below(&rng, 60000) : TIME_NEVER - 1;
    for (;;) {
        int64_t next = min_i64(twins[0].wake_ns, twins[1].wake_ns);
        bool asks = n_asked < N_ASKED && arrival_ns <= next;
        next = asks ? arrival_ns : next;
        if (next > end_ns)
            break;
        clock_ns = next;
        struct request request = { 0 };
        if (asks) {
            request = ask(&rng, ++n_asked, clock_ns);
            arrival_ns += (int64_t)rng_below(&rng, 6000);
        }
        for (int i = 0; i < 2; i++) {
            if (asks && engine_submit(twins[i].engine, &request, NULL, clock_ns))
                twins[i].wake_ns = clock_ns;
            step(&twins[i], clock_ns);
        }
    }
    clock_ns = stops ? end_ns : clock_ns;
    for (int i = 0; i < 2 && stops; i++)
        engine_stop(twins[i].engine, clock_ns);
    *n_held += twins[0].runner.n_held;
    assert_int_equal(twins[1].runner.n_held, 0);
    for (uint64_t id = 1; id <= n_asked; id++) {
        const struct heard *a = &twins[0].heard[id], *b = &twins[1].heard[id];
        assert_int_equal(a->is_over, b->is_over);
        assert_int_equal(a->n_tokens, b->n_tokens);
        assert_true(a->first_ns == b->first_ns && a->last_ns == b->last_ns);
        assert_int_equal(a->gap_ns_max, b->gap_ns_max);
        assert_true(stops || a->is_over);
    }
    for (int i = 0; i < 2; i++)
        engine_close(twins[i].engine);
    mem_give(twins);
}

static void little_is_all(void **state)
{
    static const char *const names[] = { "fcfs", "rr", "db-turn", "value" };
    uint64_t seed = test_seed(1);
    int64_t n_held = 0;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (uint64_t k = 0; k < 20; k++)
            run_twins(schedule_find(names[i]), seed + k, false, &n_held);
    assert_true(n_held > 1000);
}

static void all_is_told_at_the_end(void **state)
{
    uint64_t seed = test_seed(1);
    int64_t n_held = 0;
    (void)state;
    for (uint64_t k = 0; k < 60; k++)
        run_twins(schedule_find("fcfs"), seed + k, true, &n_held);
    assert_true(n_held > 100);
}

int main(void)
{
    base_verify = true;
    const struct CMUnitTest tests[] = { cmocka_unit_test(little_is_all),
                                        cmocka_unit_test(all_is_told_at_the_end) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
