/* A recorded engine and its replay plan the same, whatever happened: every policy under random
 * mail, cancels, deadlines, failures, a submitter that refuses events, and holds. */
#include "../test.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "engine/draft.h"
#include "engine/replay.h"
#include "engine/replay_check.h"
#include "greedy.h"
#include "world.h"

#include <unistd.h>

static int64_t n_accepted; /* drafts, in all runs so far */

static void path_of(char *path, size_t n)
{
    snprintf(path, n, "/tmp/shoal-replay-test-%d.log", (int)getpid());
}

static void make_options(struct rng *rng, const struct schedule_policy *policy,
                         struct world_options *o)
{
    world_options_init(o);
    o->policy = policy;
    o->n_services = 1 + (int32_t)rng_below(rng, 3);
    o->n_requests = 80;
    o->n_requests_max = rng_below(rng, 4) == 0 ? 16 : 48;
    o->n_tokens_max = 160;
    o->pool_bytes = 9000 + rng_below(rng, 9000);
    o->body_bytes = 60000;
    o->swap_bytes = rng_below(rng, 2) == 0 ? 0 : 2000 + rng_below(rng, 20000);
    o->chunk_tokens = 8 + (int32_t)rng_below(rng, 32);
    o->n_rounds_max = rng_below(rng, 2) == 0 ? 1 : 4096;
    o->speculation = rng_below(rng, 3) > 0 ? SPECULATION_LOOKUP : SPECULATION_OFF;
}

static void ask_one(struct world *w, struct rng *rng, uint32_t index)
{
    struct world_ask ask = {
        .index = index,
        .service = (uint16_t)rng_below(rng, (uint32_t)w->options.n_services),
        .n_prompt = 1 + (int32_t)rng_below(rng, 80),
        .n_new = 1 + (int32_t)rng_below(rng, 60),
        .prompt_seed = rng_below(rng, 3),
        .n_stops = rng_below(rng, 3) == 0 ? 4 : 0,
        .priority = (int16_t)((int32_t)rng_below(rng, 3) - 1),
        .flags = rng_below(rng, 5) == 0 ? REQUEST_WANTS_LOGPROBS : 0,
        .n_lease = rng_below(rng, 6) == 0 ? 1 + (int32_t)rng_below(rng, 20) : 0,
    };
    ask.n_shared = min_i32((int32_t)rng_below(rng, 64), ask.n_prompt);
    if (rng_below(rng, 15) == 0)
        ask.deadline_ns = w->clock_ns + 1000000 * (1 + rng_below(rng, 60));
    while (!world_submit(w, &ask)) {
        mem_give(w->requests[index].body);
        mem_give(w->requests[index].expected);
        mem_give(w->requests[index].got);
    }
}

static void run_world(struct world *w, struct rng *rng)
{
    uint32_t n_asked = 0, n_over = 0;
    w->deaf_one = rng_below(rng, 2) == 0 ? 7 : 0;
    w->fake.fail_one = rng_below(rng, 3) == 0 ? 97 : 0;
    for (int64_t n = 0; n_over < w->options.n_requests; n++) {
        assert_true(n < 200000);
        if (n_asked < w->options.n_requests)
            ask_one(w, rng, n_asked++);
        world_run(w, w->clock_ns + rng_below(rng, 3000000));
        if (rng_below(rng, 12) == 0)
            world_cancel(w, rng_below(rng, n_asked));
        n_over = 0;
        for (uint32_t i = 0; i < n_asked; i++) {
            struct world_request *q = &w->requests[i];
            if (!q->is_submitted && !q->is_over && q->is_cancelled)
                q->is_over = true;
            else if (!q->is_submitted && !q->is_over)
                (void)world_submit_again(w, i);
            n_over += q->is_over;
        }
    }
}

/* Records one random run. The log is the caller's. */
static char *record(uint64_t seed, const struct schedule_policy *policy, size_t *n)
{
    char path[64], *content;
    struct fault fault;
    struct world w;
    struct world_options o;
    struct rng rng;
    rng_init(&rng, seed, 0);
    make_options(&rng, policy, &o);
    path_of(path, sizeof(path));
    assert_int_equal(engine_log_open(&o.log, path, 1 << 28, &fault), STATUS_OK);
    world_open(&w, &o);
    run_world(&w, &rng);
    n_accepted += w.fake.n_accepted;
    world_close(&w);
    engine_log_close(o.log);
    assert_int_equal(file_read(path, 1 << 28, &content, n, &fault), STATUS_OK);
    unlink(path);
    return content;
}

static void every_policy_replays_equal(void **state)
{
    int n_policies;
    const struct schedule_policy *const *policies = schedule_all(&n_policies);
    uint64_t seed = test_seed(5000);
    (void)state;
    for (int p = 0; p < n_policies; p++) {
        struct engine_replay sum = { .n_steps = 0 };
        for (uint64_t i = 0; i < 6; i++) {
            struct engine_replay r;
            struct fault fault;
            size_t n;
            char *log = record(seed + i, policies[p], &n);
            const struct engine_replay_options options = { .policy = NULL };
            if (engine_replay_run((const void *)log, n, &options, &r, &fault) != STATUS_OK)
                fail_msg("%s, seed %llu: %s", policies[p]->name, (unsigned long long)(seed + i),
                         fault.text);
            if (r.differs)
                fail_msg("%s, seed %llu: step %lld plans %s", policies[p]->name,
                         (unsigned long long)(seed + i), (long long)r.step, r.was);
            assert_false(r.is_cut);
            sum.n_steps += r.n_steps;
            sum.n_plans += r.n_plans;
            sum.n_mails += r.n_mails;
            mem_give(log);
        }
        printf("%s: %lld mails, %lld steps, %lld plans, all equal\n", policies[p]->name,
               (long long)sum.n_mails, (long long)sum.n_steps, (long long)sum.n_plans);
        assert_true(sum.n_plans > 200 && sum.n_steps > 200); /* slices are few and long */
    }
    assert_true(n_accepted > 500 * n_policies);
}

/* The same log under another threshold, or another policy, is another history. */
static void a_flipped_threshold_is_found(void **state)
{
    struct engine_replay r;
    struct schedule_config config;
    struct fault fault;
    size_t n;
    int n_found = 0;
    uint64_t seed = test_seed(7000);
    (void)state;
    char *log = record(seed, schedule_find("fcfs"), &n);
    schedule_config_init(&config);
    config.n_seqs_max = 2;
    struct engine_replay_options options = { .config = &config };
    assert_int_equal(engine_replay_run((const void *)log, n, &options, &r, &fault), STATUS_OK);
    assert_true(r.differs && r.step > 0 && r.was[0] != '\0');
    mem_give(log);
    for (uint64_t i = 0; i < 4; i++) {
        log = record(seed + i, schedule_find("db-share"), &n);
        options = (struct engine_replay_options){ .policy = schedule_find("rr") };
        assert_int_equal(engine_replay_run((const void *)log, n, &options, &r, &fault), STATUS_OK);
        n_found += r.differs;
        mem_give(log);
    }
    assert_true(n_found > 0);
}

struct told {
    int64_t n, n_copies, n_items, last_ns;
};

static void hear(void *self, const struct engine_replay_batch *b)
{
    struct told *told = self;
    told->n++;
    told->n_copies += b->is_copy;
    told->n_items += b->n_items;
    assert_true(b->n_items > 0 && b->n_steps > 0 && b->service >= 0 && b->lane >= 0);
    assert_true(b->planned_ns <= b->begin_ns && b->begin_ns <= b->end_ns &&
                b->end_ns <= b->heard_ns && b->heard_ns >= told->last_ns);
    assert_true(b->is_copy || b->load.n_new + b->load.n_decodes > 0);
    assert_true(b->is_padded || b->load.n_decodes <= b->n_items * (1 + ENGINE_DRAFTS_MAX));
    assert_true(b->load.n_decodes == 0 ||
                b->load.n_context_most * b->load.n_decodes >= b->load.n_decode_context);
    told->last_ns = b->heard_ns;
}

/* The listener of a replay hears of every batch that was answered, in order. */
static void a_replay_tells_of_every_batch(void **state)
{
    struct engine_replay r;
    struct fault fault;
    struct told told = { 0 };
    size_t n;
    (void)state;
    char *log = record(test_seed(9000), schedule_find("fcfs"), &n);
    const struct engine_replay_options options = { .saw = hear, .saw_self = &told };
    struct engine_log_reader reader = { .at = (const void *)log, .n_bytes = n };
    struct engine_log_record one;
    int64_t n_answers = 0, n_failed = 0;
    while (engine_log_next(&reader, &one) == ENGINE_LOG_RECORD) {
        struct engine_log_done done;
        if (one.kind != ENGINE_LOG_DONE)
            continue;
        memcpy(&done, one.payload, sizeof done);
        n_answers++;
        n_failed += done.is_failed;
    }
    assert_int_equal(engine_replay_run((const void *)log, n, &options, &r, &fault), STATUS_OK);
    assert_int_equal(told.n, n_answers - n_failed);
    assert_true(told.n > 20 && told.n_items > told.n);
    assert_true(r.n_services > 0 && r.n_lanes > 0);
    mem_give(log);
}

static void a_log_that_ends_early_replays_as_far_as_it_goes(void **state)
{
    struct engine_replay r;
    struct fault fault;
    size_t n;
    (void)state;
    char *log = record(test_seed(8000), schedule_find("fcfs"), &n);
    const struct engine_replay_options options = { .policy = NULL };
    for (size_t cut = n; cut > 1000; cut -= cut < 1 + n / 60 ? cut : 1 + n / 60) {
        enum status status = engine_replay_run((const void *)log, cut, &options, &r, &fault);
        if (status != STATUS_OK)
            fail_msg("%zu of %zu bytes: %s", cut, n, fault.text);
        assert_false(r.differs);
    }
    mem_give(log);
}

/* Whatever a changed log contains, the result is an error message, never a crash.
 * tests/fuzz/replay_log_fuzz.c tests the code behind the checks of records. */
static void a_changed_log_is_refused_or_differs(void **state)
{
    struct fault fault;
    size_t n;
    (void)state;
    char *log = record(test_seed(9000), schedule_find("rr"), &n);
    const struct engine_replay_options options = { .policy = NULL };
    for (size_t at = 0; at < n; at += 1 + n / 300) {
        struct engine_replay r;
        log[at] ^= 0x41;
        enum status status = engine_replay_run((const void *)log, n, &options, &r, &fault);
        assert_true(status == STATUS_OK || fault.text[0] != '\0');
        log[at] ^= 0x41;
    }
    mem_give(log);
}

/* Sizes whose products do not fit in 64 bits are refused, in pools of every kind. */
static void sizes_that_overflow_are_refused(void **state)
{
    struct engine_log_opened o;
    struct engine_log_record first;
    size_t n;
    (void)state;
    char *log = record(test_seed(9100), schedule_find("rr"), &n);
    struct engine_log_reader reader = { .at = (const void *)log, .n_bytes = n };
    assert_int_equal(engine_log_next(&reader, &first), ENGINE_LOG_RECORD);
    memcpy(&o, first.payload, sizeof(o));
    assert_null(engine_replay_check_opened(&o));
    o.n_services = 1;
    o.kv_unit_bytes = INT64_C(1) << 50;
    const struct service_spec spec = { .name = "one" };
    struct kv_layout layout = { 1 << 20, 16, 1, 16 << 20, 0 };
    o.kv_bounds = kv_cut_bounds_of(&layout, 1);
    for (o.kv_kind = 0; o.kv_kind < KV_KINDS; o.kv_kind++) {
        assert_null(engine_replay_check_opened(&o)); /* of one unit, and less */
        assert_null(engine_replay_check_services(&o, &spec, &layout));
    }
    layout.bytes_per_token = o.kv_unit_bytes;
    layout.block_tokens = LIMIT_CONTEXT;
    o.kv_kind = KV_MERGED;
    assert_non_null(engine_replay_check_services(&o, &spec, &layout));
    layout.units_per_block = KV_BLOCK_UNITS_MAX;
    o.kv_kind = KV_HEADS;
    assert_non_null(engine_replay_check_services(&o, &spec, &layout));
    mem_give(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_replays_equal),
        cmocka_unit_test(a_flipped_threshold_is_found),
        cmocka_unit_test(a_replay_tells_of_every_batch),
        cmocka_unit_test(a_log_that_ends_early_replays_as_far_as_it_goes),
        cmocka_unit_test(a_changed_log_is_refused_or_differs),
        cmocka_unit_test(sizes_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
