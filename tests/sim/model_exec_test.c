/* The modelled executor: n rounds end when n single rounds would, cuts at the next boundary, lanes
 * side by side. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "sim/model_exec.h"

static const struct perf perf = {
    .floor_ps = 1000001,
    .c1_ps = 333333,
    .k1_ps = 7777,
    .c3_ps = { 123457, 123457 },
    .c2_ps = { 1013, 1013 },
    .k2_ps = { 17, 17 },
    .b_switch = 1000,
    .prefill_scale = 1,
    .decode_scale = 1,
};

struct bench {
    int64_t clock_ns;
    struct request requests[4];
    struct batch_item items[4];
    struct sim_model_exec *exec;
    struct engine_exec face;
};

static void bench_open(struct bench *b, int n_lanes)
{
    *b = (struct bench){ .clock_ns = 1000 };
    for (uint32_t i = 0; i < 4; i++) {
        b->requests[i] = (struct request){ .n_prompt = 10,
                                           .n_tokens = 11 + (int32_t)i * 5,
                                           .n_computed = 10 + (int32_t)i * 5,
                                           .n_tokens_max = 900 };
        b->items[i] = (struct batch_item){ .slot = i, .n_tokens = 1 };
    }
    b->exec = sim_model_exec_open(1, &perf, n_lanes, &b->clock_ns);
    b->face = sim_model_exec_face(b->exec);
    const struct engine_exec_view view = { .requests = b->requests };
    b->face.attach(b->face.self, &view);
}

/* Runs at least n_rounds one by one. Returns the time when the last ended. */
static int64_t one_by_one(struct bench *b, const struct batch *batches, int n_batches, int n_rounds)
{
    struct engine_exec_done done;
    for (int round = 0; round < n_rounds; round++) {
        b->face.begin(b->face.self, batches, n_batches, 1);
        for (int i = 0; i < n_batches; i++) {
            b->clock_ns = b->face.next_ns(b->face.self);
            assert_true(b->face.poll(b->face.self, &done));
            for (int32_t k = 0; k < batches[i].n_items; k++) {
                struct request *r = &b->requests[batches[i].items[k].slot];
                struct engine_progress p = engine_exec_progress(r, batches[i].items[k].n_tokens, 1);
                assert_int_equal(done.n_new[k], p.n_new);
                r->n_computed += p.n_computed;
                r->n_tokens += p.n_new;
            }
        }
    }
    return b->clock_ns;
}

static void holds_end_when_steps_would(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(1), 0);
    for (int n = 0; n < 200; n++) {
        struct bench a, b;
        struct engine_exec_done done;
        int n_rounds = 2 + (int)rng_below(&rng, 60), n_batches = 1 + (int)rng_below(&rng, 2);
        bench_open(&a, 1);
        bench_open(&b, 1);
        if (n % 3 == 0) /* one item catches up first */
            a.requests[1].n_computed = b.requests[1].n_computed = 3;
        struct batch batches[2] = { { .id = 1, .n_items = 2, .items = a.items },
                                    { .id = 2, .n_items = 2, .items = a.items + 2 } };
        b.face.begin(b.face.self, batches, n_batches, n_rounds);
        int n_done = n_rounds;
        if (rng_below(&rng, 2) == 0) { /* a cut: the fewest rounds that end not before now */
            b.clock_ns += rng_below(&rng, 20000);
            b.face.cut(b.face.self, 0);
            struct bench c;
            bench_open(&c, 1);
            c.requests[1].n_computed = a.requests[1].n_computed;
            for (n_done = 0; n_done < n_rounds && (n_done == 0 || c.clock_ns < b.clock_ns);
                 n_done++)
                (void)one_by_one(&c, batches, n_batches, 1);
            sim_model_exec_close(c.exec);
        }
        int64_t end_ns = one_by_one(&a, batches, n_batches, n_done);
        for (int i = 0; i < n_batches; i++) {
            b.clock_ns = max_i64(b.clock_ns, b.face.next_ns(b.face.self));
            assert_true(b.face.poll(b.face.self, &done));
            assert_int_equal(done.n_steps, n_done);
        }
        assert_int_equal(done.end_ns, end_ns);
        assert_int_equal(sim_model_exec_busy_ns(a.exec), sim_model_exec_busy_ns(b.exec));
        sim_model_exec_close(a.exec);
        sim_model_exec_close(b.exec);
    }
}

/* Stopped in the middle of a hold: rounds that had ended are reported at once, the rest never. */
static void who_stops_has_done_what_ended(void **state)
{
    struct bench steps, held;
    struct engine_exec_done done;
    struct batch batch = { .n_items = 4, .items = steps.items, .id = 1 };
    (void)state;
    for (int n_rounds = 0; n_rounds < 12; n_rounds++) {
        for (int64_t off_ns = -1; off_ns <= 1; off_ns++) {
            int64_t end_ns = 1000;
            bench_open(&steps, 1);
            if (n_rounds > 0)
                end_ns = one_by_one(&steps, &batch, 1, n_rounds);
            sim_model_exec_close(steps.exec);
            bench_open(&held, 1);
            batch.items = held.items;
            held.face.begin(held.face.self, &batch, 1, 10);
            held.clock_ns = max_i64(end_ns + off_ns, 1000);
            int n_ended = n_rounds - (off_ns < 0 && n_rounds > 0);
            sim_model_exec_stop(held.exec);
            bool has_some = held.face.poll(held.face.self, &done);
            assert_true(has_some == (n_ended > 0));
            assert_true(!has_some || done.n_steps == min_i32(n_ended, 10));
            assert_true(has_some || held.face.next_ns(held.face.self) > TIME_NS_PER_S * 1000000);
            sim_model_exec_close(held.exec);
            batch.items = steps.items;
        }
    }
}

static void lanes_do_not_wait_for_each_other(void **state)
{
    struct bench b;
    struct engine_exec_done done;
    (void)state;
    bench_open(&b, 2);
    struct batch first = { .id = 1, .lane = 0, .n_items = 2, .items = b.items };
    struct batch second = { .id = 2, .lane = 1, .n_items = 1, .items = b.items + 2 };
    b.face.begin(b.face.self, &first, 1, 5);
    b.face.begin(b.face.self, &second, 1, 1);
    assert_false(b.face.poll(b.face.self, &done));
    b.clock_ns = b.face.next_ns(b.face.self);
    assert_true(b.face.poll(b.face.self, &done) && done.batch == 2);
    b.clock_ns = b.face.next_ns(b.face.self);
    assert_true(b.face.poll(b.face.self, &done) && done.batch == 1 && done.n_new[0] == 5);
    assert_true(b.face.next_ns(b.face.self) == TIME_NEVER && b.face.wait_fd(b.face.self) == -1);
    sim_model_exec_close(b.exec);
}

/* A lane of half the device takes the table's time. Concurrent batches wait when together they read
 * more than the memory gives. */
static void lanes_share_the_device(void **state)
{
    const struct sim_model_sharer sharers[1] = { { .weights_bytes = INT64_C(13476000000) } };
    struct sim_model_device device = {
        .tp = 1, .bytes_per_s = 1e15, .shares = { 1, 0.5, 0.5 }, .services = sharers
    };
    struct batch batches[2] = { { .id = 1, .lane = 1, .n_items = 2 },
                                { .id = 2, .lane = 2, .n_items = 2 } };
    int64_t ends[2][2];
    (void)state;
    for (int narrow = 0; narrow < 2; narrow++) {
        struct bench b;
        struct engine_exec_done done;
        bench_open(&b, 3);
        device.bytes_per_s = narrow == 1 ? 1e13 : 1e20;
        sim_model_exec_set_device(b.exec, &device);
        for (int i = 0; i < 2; i++) {
            batches[i].items = b.items + 2 * i;
            b.face.begin(b.face.self, &batches[i], 1, 1);
        }
        for (int i = 0; i < 2; i++) {
            b.clock_ns = b.face.next_ns(b.face.self);
            assert_true(b.face.poll(b.face.self, &done));
            assert_true(done.batch == 1 || done.batch == 2);
            ends[narrow][done.batch - 1] = done.end_ns - done.begin_ns;
        }
        sim_model_exec_close(b.exec);
    }
    struct perf part;
    const struct perf_load load = { .n_decodes = 2, .n_decode_context = 11 + 16 };
    perf_at_share(&perf, perf_share_of(sharers[0].weights_bytes, 1), 0.5, &part);
    assert_true(perf_step_ps(&part, &load) > perf_step_ps(&perf, &load));
    assert_int_equal(ends[0][0], div_up_i64(perf_step_ps(&part, &load), 1000));
    assert_true(ends[0][1] < ends[0][0] + 2);
    assert_true(ends[1][0] > 2 * ends[0][0]);
    assert_true(ends[1][1] > 2 * ends[0][1]);
}

/* A prompt of 100 tokens beside a decode on halves of the cores. Alone on its half the prompt takes
 * 2 * 100 us, and a decode step 2 * 20 us (whatever its context). The weights of 1 MB in 200 us are
 * 5 GB/s, in 40 us 25 GB/s, together 30. */
struct pair {
    int64_t clock_ns;
    struct request requests[2];
    struct batch_item items[2];
    struct batch prompt, decode;
    struct sim_model_exec *exec;
    struct engine_exec face;
};

static void pair_open_as(struct pair *p, const struct sim_model_device *device)
{
    const struct perf simple = { .k1_ps = 1000000,
                                 .c3_ps = { 20000000, 20000000 },
                                 .b_switch = 100,
                                 .prefill_scale = 1,
                                 .decode_scale = 1 };
    *p = (struct pair){ .clock_ns = 0 };
    p->requests[0] = (struct request){ .n_prompt = 100, .n_tokens = 100, .n_tokens_max = 900 };
    p->requests[1] =
        (struct request){ .n_prompt = 10, .n_tokens = 11, .n_computed = 10, .n_tokens_max = 900 };
    p->items[0] = (struct batch_item){ .slot = 0, .n_tokens = 100 };
    p->items[1] = (struct batch_item){ .slot = 1, .n_tokens = 1 };
    p->prompt = (struct batch){ .id = 1, .lane = 1, .n_items = 1, .items = &p->items[0] };
    p->decode = (struct batch){ .id = 2, .lane = 2, .n_items = 1, .items = &p->items[1] };
    p->exec = sim_model_exec_open(1, &simple, 3, &p->clock_ns);
    sim_model_exec_set_device(p->exec, device);
    p->face = sim_model_exec_face(p->exec);
    const struct engine_exec_view view = { .requests = p->requests };
    p->face.attach(p->face.self, &view);
}

static void pair_open(struct pair *p, double bytes_per_s, double share)
{
    const struct sim_model_sharer sharer = { .weights_bytes = 1000000 };
    pair_open_as(p, &(struct sim_model_device){ .bytes_per_s = bytes_per_s,
                                                .shares = { 1, share, 0.5 },
                                                .services = &sharer });
}

/* Waits for the next end, which must be this batch's, at this time. */
static void expect(struct pair *p, uint32_t batch, int64_t end_ns)
{
    struct engine_exec_done done;
    p->clock_ns = max_i64(p->clock_ns, p->face.next_ns(p->face.self));
    assert_true(p->face.poll(p->face.self, &done));
    assert_int_equal(done.batch, batch);
    assert_int_equal(done.end_ns, end_ns);
}

/* As measured, on its core the prompt takes 150 us, a decode step 30. The prompt beside decodes
 * takes 1.2 times as long, decodes beside a prompt 1.5 times. From 50 us on the prompt's last 100
 * take 120 and end at 170. By then 120 / 1.5 = 80 of the decodes' 180 us are done, and the last 100
 * end at 270. */
static void steps_side_by_side_are_as_measured(void **state)
{
    (void)state;
    struct pair p;
    const struct perf core = { .k1_ps = 1500000,
                               .c3_ps = { 30000000, 30000000 },
                               .b_switch = 100,
                               .prefill_scale = 1,
                               .decode_scale = 1 };
    const struct sim_model_sharer sharer = { .weights_bytes = 1000000,
                                             .beside = { { 9, 1.2 }, { 1.5, 9 } } };
    pair_open_as(&p, &(struct sim_model_device){
                         .bytes_per_s = 1, .shares = { 1, 0.5, 0.5 }, .services = &sharer });
    for (int lane = 1; lane < 3; lane++)
        sim_model_exec_set_lane(p.exec, lane, 0, &core);
    p.face.begin(p.face.self, &p.prompt, 1, 1);
    assert_int_equal(p.face.next_ns(p.face.self), 150000);
    p.clock_ns = 50000;
    p.face.begin(p.face.self, &p.decode, 1, 6);
    expect(&p, 1, 170000);
    expect(&p, 2, 270000);
    sim_model_exec_close(p.exec);
}

/* With memory of 20 GB/s concurrent steps take 30 / 20 = 1.5 times. Five decode steps of 40 us
 * begin at 50 us. By then the prompt has 150 us left, which take 225 and end at 275. The decodes
 * have then done 150 of their 200 us, and do the last 50 alone: 325. */
static void steps_side_by_side_share_the_memory(void **state)
{
    (void)state;
    struct pair p;
    pair_open(&p, 20e9, 0.5);
    p.face.begin(p.face.self, &p.prompt, 1, 1);
    assert_int_equal(p.face.next_ns(p.face.self), 200000);
    p.clock_ns = 50000;
    p.face.begin(p.face.self, &p.decode, 1, 5);
    expect(&p, 1, 275000);
    expect(&p, 2, 325000);
    assert_int_equal(sim_model_exec_busy_ns(p.exec), 275000);
    sim_model_exec_close(p.exec);
}

/* With enough memory no lane waits. A prompt on 0.6 of the cores beside 0.5 takes 166.67 us times
 * 1.1. Twenty decodes are cut at 90 us, and the third ends at 120. */
static void shares_above_one_slow_prompts(void **state)
{
    (void)state;
    struct pair p;
    pair_open(&p, 1e15, 0.5);
    p.face.begin(p.face.self, &p.prompt, 1, 1);
    p.face.begin(p.face.self, &p.decode, 1, 5);
    expect(&p, 1, 200000);
    expect(&p, 2, 200000);
    sim_model_exec_close(p.exec);
    pair_open(&p, 1e15, 0.6);
    p.face.begin(p.face.self, &p.prompt, 1, 1);
    p.face.begin(p.face.self, &p.decode, 1, 20);
    p.clock_ns = 90000;
    p.face.cut(p.face.self, 2);
    expect(&p, 2, 120000);
    int64_t end_ns = p.face.next_ns(p.face.self);
    assert_in_range(end_ns, 177570, 177580); /* 109.09 us are done by 120, the rest at full speed */
    sim_model_exec_close(p.exec);
}

/* Rounds of a hold end when single rounds would, whatever runs beside them. */
static void holds_are_exact_beside_others(void **state)
{
    (void)state;
    int64_t ends_ns[2];
    for (int is_hold = 0; is_hold < 2; is_hold++) {
        struct pair p;
        struct engine_exec_done done;
        pair_open(&p, 17e9, 0.5);
        p.face.begin(p.face.self, &p.prompt, 1, 1);
        p.face.begin(p.face.self, &p.decode, 1, is_hold ? 9 : 1);
        for (int n = 0; n < (is_hold ? 2 : 10); n++) {
            p.clock_ns = p.face.next_ns(p.face.self);
            assert_true(p.face.poll(p.face.self, &done));
            if (done.batch == 2 && !is_hold) {
                p.requests[1].n_computed++;
                p.requests[1].n_tokens++;
                if (p.requests[1].n_computed < 19)
                    p.face.begin(p.face.self, &p.decode, 1, 1);
            }
        }
        ends_ns[is_hold] = done.end_ns;
        assert_int_equal(p.face.next_ns(p.face.self), TIME_NEVER);
        sim_model_exec_close(p.exec);
    }
    assert_int_equal(ends_ns[0], ends_ns[1]);
}

/* Runs a hold that begins at begin_ns, and a prompt beside it 50 us later. Sets when they end after
 * that. */
static void ends_beside(int64_t begin_ns, int64_t ends_ns[2])
{
    struct pair p;
    struct engine_exec_done done;
    pair_open(&p, 17e9, 0.5);
    p.clock_ns = begin_ns;
    p.face.begin(p.face.self, &p.decode, 1, 9);
    p.clock_ns = begin_ns + 50000;
    p.face.begin(p.face.self, &p.prompt, 1, 1);
    for (int n = 0; n < 2; n++) {
        p.clock_ns = p.face.next_ns(p.face.self);
        assert_true(p.face.poll(p.face.self, &done));
        ends_ns[done.batch - 1] = done.end_ns - begin_ns;
        assert_int_equal(done.begin_ns, begin_ns + (done.batch == 1 ? 50000 : 0));
    }
    p.clock_ns += TIME_NS_PER_S * 86400 * 300; /* a lane idle for more than 2^63 ps goes on */
    p.requests[1].n_computed = 10;
    p.requests[1].n_tokens = 11;
    p.face.begin(p.face.self, &p.decode, 1, 1);
    assert_int_equal(p.face.next_ns(p.face.self), p.clock_ns + 40000);
    sim_model_exec_close(p.exec);
}

/* The base of picoseconds moves while no lane runs, and while the hold does. */
static void years_are_as_the_first_second(void **state)
{
    static const int64_t hour_ns = 3600 * TIME_NS_PER_S, day_ns = 24 * 3600 * TIME_NS_PER_S;
    const int64_t begins_ns[] = { hour_ns - 20000, hour_ns + 1, 106 * day_ns, 107 * day_ns,
                                  100 * 365 * day_ns };
    int64_t wanted_ns[2], ends_ns[2];
    (void)state;
    ends_beside(0, wanted_ns);
    for (size_t i = 0; i < COUNT_OF(begins_ns); i++) {
        ends_beside(begins_ns[i], ends_ns);
        assert_memory_equal(ends_ns, wanted_ns, sizeof(ends_ns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_end_when_steps_would),
        cmocka_unit_test(who_stops_has_done_what_ended),
        cmocka_unit_test(lanes_do_not_wait_for_each_other),
        cmocka_unit_test(lanes_share_the_device),
        cmocka_unit_test(steps_side_by_side_share_the_memory),
        cmocka_unit_test(steps_side_by_side_are_as_measured),
        cmocka_unit_test(shares_above_one_slow_prompts),
        cmocka_unit_test(holds_are_exact_beside_others),
        cmocka_unit_test(years_are_as_the_first_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
