/* The promises of drivers (cuda/driver.h), and faults of their callers that the emulated one finds:
 * a buffer that is used again too early, a stream that does not wait for another, memory that is
 * not mapped or not pinned, calls during a capture, and objects that are not closed. */
#include "cuda/launch.cuh"

#define _Noreturn [[noreturn]]
extern "C" {
#include "cuda/driver.h"
#include "emulate/control.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
}

#ifdef TEST_GPU
enum { N = 256, GRANULE = 2 << 20 };
#else
enum { N = 256, GRANULE = 64 << 10 };
#endif

__global__ void add(float *x, float value)
{
    x[threadIdx.x] += value;
}
__global__ void set(float *x, float value)
{
    x[threadIdx.x] = value;
}

static struct scene {
    struct cuda_driver *driver;
    struct cuda_stream *streams[2];
    struct cuda_event *events[2];
    float *device;
    float *host[2]; /* of a page each, since pages are pinned */
} s;
alignas(4096) static float pages[2][1024];

static void open_scene(uint64_t seed)
{
    emulate_seed_streams(seed);
    assert_int_equal(cuda_driver_open(0, &s.driver, NULL), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        s.host[i] = pages[i];
        s.streams[i] = cuda_driver_stream_open(s.driver, NULL);
        s.events[i] = cuda_driver_event_open(s.driver);
        assert_true(cuda_driver_pin(s.driver, s.host[i], N * sizeof(float)));
    }
    s.device = (float *)cuda_driver_reserve(s.driver, 2 * GRANULE);
    assert_true(cuda_driver_map(s.driver, (unsigned char *)s.device, GRANULE));
}

static void close_scene(void)
{
    for (int i = 0; i < 2; i++) {
        cuda_driver_stream_close(s.driver, s.streams[i]);
        cuda_driver_event_close(s.driver, s.events[i]);
        cuda_driver_unpin(s.driver, s.host[i]);
    }
    cuda_driver_unmap(s.driver, (unsigned char *)s.device, GRANULE);
    cuda_driver_release(s.driver, (unsigned char *)s.device, 2 * GRANULE);
    cuda_driver_close(s.driver);
}

static void copy(int stream, void *to, const void *from)
{
    assert_true(cuda_driver_copy(s.driver, s.streams[stream], to, from, N * sizeof(float)));
}

static void finish(int stream)
{
    assert_true(cuda_driver_record(s.driver, s.events[stream], s.streams[stream]));
    assert_true(cuda_driver_wait(s.driver, s.events[stream]));
}

static void fill_host(int i, float value)
{
    for (int k = 0; k < N; k++)
        s.host[i][k] = value;
}

static void a_stream_keeps_its_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        open_scene(seed);
        fill_host(0, 3);
        copy(0, s.device, s.host[0]);
        assert_true(LAUNCH(add, 1, N, 0, s.streams[0], s.device, 4.0f));
        copy(0, s.host[1], s.device);
#ifndef TEST_GPU /* which may be done already */
        assert_true(s.host[1][5] != 7);
#endif
        finish(0);
        assert_true(s.host[1][0] == 7 && s.host[1][N - 1] == 7);
        close_scene();
    }
}

#ifndef TEST_GPU /* its orders are not drawn from seeds, and it does not report faults of callers  \
                  */
/* A buffer of the host that is filled again while it is copied: what arrives is the later one. */
static void early_reuse_is_found(void **state)
{
    (void)state;
    open_scene(1);
    fill_host(0, 3);
    copy(0, s.device, s.host[0]);
    fill_host(0, 9); /* the fault */
    copy(0, s.host[1], s.device);
    finish(0);
    assert_true(s.host[1][0] == 9);
    close_scene();
}

#endif

/* Two streams that write and read one place: with an event the order is right under every seed,
 * without it some seed shows the fault. */
static int wrong_orders(bool follows)
{
    int n_wrong = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        open_scene(seed);
        assert_true(LAUNCH(set, 1, N, 0, s.streams[0], s.device, 1.0f));
        assert_true(LAUNCH(add, 1, N, 0, s.streams[0], s.device, 1.0f));
        assert_true(cuda_driver_record(s.driver, s.events[0], s.streams[0]));
        if (follows)
            assert_true(cuda_driver_follow(s.driver, s.streams[1], s.events[0]));
        copy(1, s.host[1], s.device);
        finish(1);
        n_wrong += !(s.host[1][0] == 2);
        assert_true(cuda_driver_wait(s.driver, s.events[0]));
        close_scene();
    }
    return n_wrong;
}

static void streams_overtake_each_other(void **state)
{
    (void)state;
    assert_int_equal(wrong_orders(true), 0);
#ifndef TEST_GPU
    assert_true(wrong_orders(false) > 5);
#endif
}

static void graphs_run_again(void **state)
{
    (void)state;
    open_scene(2);
    fill_host(0, 1);
    assert_true(cuda_driver_capture(s.driver, s.streams[0]));
    copy(0, s.device, s.host[0]);
    assert_true(LAUNCH(add, 1, N, 0, s.streams[0], s.device, 10.0f));
    copy(0, s.host[1], s.device);
    struct cuda_graph *graph = cuda_driver_captured(s.driver, s.streams[0]);
    assert_non_null(graph);
    for (int i = 0; i < 3; i++) {
        fill_host(0, (float)i);
        assert_true(cuda_driver_replay(s.driver, graph, s.streams[0]));
        finish(0);
        assert_true(s.host[1][7] == 10 + (float)i);
    }
    cuda_driver_graph_close(s.driver, graph);
    close_scene();
}

#ifndef TEST_GPU
static void expect(const char *sentence)
{
    const char *fault = emulate_fault();
    if (strstr(fault, sentence) == NULL)
        fail_msg("expected \"%s\", got \"%s\"", sentence, fault);
}

static void faults_of_callers_are_found(void **state)
{
    (void)state;
    static float loose[N];
    open_scene(3);
    emulate_expect_faults(true);
    assert_false(cuda_driver_copy(s.driver, s.streams[0], s.device, loose, sizeof loose));
    expect("host memory that is not pinned");
    assert_false(cuda_driver_copy(s.driver, s.streams[0], s.device + GRANULE / 4, s.host[0], 64));
    expect("device memory that is not mapped");
    assert_true(cuda_driver_capture(s.driver, s.streams[0]));
    (void)cuda_driver_event_open(s.driver);
    expect("event_open was called during a capture");
    cuda_driver_graph_close(s.driver, cuda_driver_captured(s.driver, s.streams[0]));
    cuda_driver_unmap(s.driver, (unsigned char *)s.device, 2 * GRANULE);
    expect("not what one call of map put there");
    close_scene(); /* the event above is open */
    expect("1 events, 0 partitions and 0 graphs are still open");
    emulate_expect_faults(false);
}

static void partitions_are_disjoint(void **state)
{
    (void)state;
    open_scene(5);
    const struct cuda_driver_info *info = cuda_driver_describe(s.driver);
    struct cuda_partition *first = cuda_driver_partition_open(s.driver, 0, 2);
    struct cuda_partition *rest = cuda_driver_partition_open(s.driver, 2, info->n_units - 2);
    assert_true(first != NULL && rest != NULL);
    struct cuda_stream *stream = cuda_driver_stream_open(s.driver, rest);
    emulate_expect_faults(true);
    assert_null(cuda_driver_partition_open(s.driver, 1, 1));
    expect("partitions overlap");
    assert_null(cuda_driver_partition_open(s.driver, info->n_units, 1));
    expect("no such units");
    cuda_driver_partition_close(s.driver, first);
    first = cuda_driver_partition_open(s.driver, 1, 1);
    assert_non_null(first);
    cuda_driver_stream_close(s.driver, stream);
    cuda_driver_partition_close(s.driver, rest);
    close_scene();
    expect("1 partitions");
    emulate_expect_faults(false);
}

#endif

static void a_partition_runs_kernels(void **state)
{
    (void)state;
    open_scene(6);
    const struct cuda_driver_info *info = cuda_driver_describe(s.driver);
    assert_true(info->n_units >= 2); /* a driver that divides no GPU has 0 */
    struct cuda_partition *half = cuda_driver_partition_open(s.driver, 0, info->n_units / 2);
    assert_non_null(half);
    struct cuda_stream *whole = s.streams[0];
    s.streams[0] = cuda_driver_stream_open(s.driver, half);
    assert_non_null(s.streams[0]);
    fill_host(0, 3);
    copy(0, s.device, s.host[0]);
    assert_true(LAUNCH(add, 1, N, 0, s.streams[0], s.device, 4.0f));
    copy(0, s.host[1], s.device);
    finish(0);
    assert_true(s.host[1][0] == 7 && s.host[1][N - 1] == 7);
    cuda_driver_stream_close(s.driver, s.streams[0]);
    cuda_driver_partition_close(s.driver, half);
    s.streams[0] = whole;
    close_scene();
}

static void a_lost_gpu_refuses_all(void **state)
{
    (void)state;
    open_scene(4);
    emulate_lose(1);
    copy(0, s.device, s.host[0]);
    copy(0, s.host[1], s.device);
    assert_true(cuda_driver_record(s.driver, s.events[0], s.streams[0]));
    assert_false(cuda_driver_wait(s.driver, s.events[0]));
    assert_true(cuda_driver_is_lost(s.driver));
    assert_false(cuda_driver_copy(s.driver, s.streams[0], s.device, s.host[0], 4));
    assert_false(LAUNCH(add, 1, N, 0, s.streams[0], s.device, 4.0f));
    close_scene();
}

#ifdef TEST_GPU /* a part of tests/cuda/real/conformance.c */
extern "C" int driver_main(void);
int driver_main(void)
#else
int main(void)
#endif
{
    const struct CMUnitTest tests[] = {
#ifndef TEST_GPU
        cmocka_unit_test(early_reuse_is_found),     cmocka_unit_test(faults_of_callers_are_found),
        cmocka_unit_test(partitions_are_disjoint),
#endif
        cmocka_unit_test(a_stream_keeps_its_order), cmocka_unit_test(streams_overtake_each_other),
        cmocka_unit_test(graphs_run_again),         cmocka_unit_test(a_partition_runs_kernels),
        cmocka_unit_test(a_lost_gpu_refuses_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
