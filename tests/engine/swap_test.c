/* A request that gives way to the host resumes where it was. Without room there it computes again.
 * However it ends, its room is given back. */
#include "../test.h"
#include "base/time.h"
#include "greedy.h"
#include "world.h"

static struct world w;

/* Four requests in a pool that holds about two of them. */
static void run(int64_t swap_bytes, int64_t *n_swapped, int64_t *n_preempted, bool cancels)
{
    struct world_options o;
    static struct engine_report report;
    world_options_init(&o);
    o.pool_bytes = 4096;
    o.swap_bytes = swap_bytes;
    o.has_prefix_cache = false;
    o.n_rounds_max = 1;
    world_open(&w, &o);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(world_submit(
            &w, &(struct world_ask){ .index = i, .n_prompt = 40 + (int32_t)i, .n_new = 90 }));
    for (int i = 0; i < 3000 && !engine_is_idle(w.engine); i++) {
        world_run(&w, w.clock_ns + 500000);
        if (cancels && i % 100 == 99)
            world_cancel(&w, (uint32_t)(i / 100) % 4);
    }
    world_finish(&w);
    engine_report(w.engine, &report, w.clock_ns);
    *n_swapped = report.services[0].n_swapped;
    *n_preempted = report.services[0].n_preempted;
    for (uint32_t i = 0; i < 4; i++) /* world_close has compared the tokens */
        assert_true(w.requests[i].is_over);
    world_close(&w);
}

static void it_resumes_where_it_was(void **state)
{
    int64_t n_swapped, n_preempted, n_copied;
    (void)state;
    run(1 << 20, &n_swapped, &n_preempted, false);
    n_copied = w.fake.n_copied;
    assert_true(n_swapped > 0 && n_swapped <= n_preempted && n_copied == n_swapped);
}

static void without_room_it_computes_again(void **state)
{
    int64_t n_swapped, n_preempted;
    (void)state;
    run(0, &n_swapped, &n_preempted, false);
    assert_true(n_swapped == 0 && n_preempted > 0);
    run(300, &n_swapped, &n_preempted, false); /* less than any of them needs */
    assert_true(n_swapped == 0 && n_preempted > 0);
}

static void a_cancel_gives_the_room_back(void **state)
{
    int64_t n_swapped, n_preempted;
    (void)state;
    run(1 << 20, &n_swapped, &n_preempted, true); /* world_close: nothing is left behind */
}

/* Copies and batches fail: a request whose blocks were to be copied back computes them again from
 * its tokens. */
static void a_failed_copy_sends_it_home(void **state)
{
    struct world_options o;
    int64_t n_failed_in = 0;
    (void)state;
    for (uint32_t fail_one = 13; fail_one < 22; fail_one++) {
        world_options_init(&o);
        o.pool_bytes = 4096;
        o.swap_bytes = 1 << 20;
        o.has_prefix_cache = false;
        o.n_rounds_max = 1;
        world_open(&w, &o);
        w.fake.fail_one = fail_one;
        for (uint32_t i = 0; i < 4; i++)
            assert_true(world_submit(
                &w, &(struct world_ask){ .index = i, .n_prompt = 40 + (int32_t)i, .n_new = 90 }));
        int n_over = 0;
        for (int n = 0; n < 20000 && n_over < 4; n++) {
            world_run(&w, w.clock_ns + 500000);
            n_over = 0;
            for (uint32_t i = 0; i < 4; i++) {
                n_over += w.requests[i].is_over;
                if (!w.requests[i].is_submitted && !w.requests[i].is_over)
                    (void)world_submit_again(&w, i);
            }
        }
        assert_int_equal(n_over, 4);
        n_failed_in += w.fake.n_failed_in;
        world_close(&w); /* compares the tokens */
    }
    assert_true(n_failed_in > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_resumes_where_it_was),
        cmocka_unit_test(without_room_it_computes_again),
        cmocka_unit_test(a_cancel_gives_the_room_back),
        cmocka_unit_test(a_failed_copy_sends_it_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
