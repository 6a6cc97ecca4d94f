/* The meter: passes that fit, its description of a pass, and that it computes at all. No times are
 * compared. */
#include "late.h"
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "run/meter.h"
#include "run/profile.h"
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct compute_device *device;
static struct run_model model;

static int open_model(void **state)
{
    static const struct device_spec spec = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { 0 } };
    struct weights *weights;
    struct fault fault;
    (void)state;
    assert_int_equal(weights_open(&weights, SOURCE_ROOT "/models/tale.gguf", &fault), STATUS_OK);
    device = late_or_plain(cpu_open(&spec, cpu_isa_best()));
    const struct run_model_options load = { .device = device, .kv_dtype = DTYPE_F16 };
    assert_int_equal(run_model_open(&model, weights, &load, &fault), STATUS_OK);
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    run_model_close(&model);
    device->close(device->self);
    return 0;
}

static void passes_that_fit_are_measured(void **state)
{
    (void)state;
    const struct run_meter_options options = { 64, 8, 512 };
    struct run_meter *meter = run_meter_open(&model, &options);
    static const struct {
        struct run_meter_pass pass;
        bool fits;
        struct perf_load load;
    } known[] = {
        { { 1, 1, 31 }, true, { 1, 32, 0, 0, 0 } },
        { { 8, 1, 63 }, true, { 8, 512, 0, 0, 0 } },
        { { 1, 64, 0 }, true, { 0, 0, 64, 4096, 0 } },
        { { 2, 32, 16 }, true, { 0, 0, 64, 2048, 1024 } },
        { { 9, 1, 0 }, false, { 0 } },   /* too many requests */
        { { 1, 65, 0 }, false, { 0 } },  /* too many tokens */
        { { 8, 1, 500 }, false, { 0 } }, /* too large a cache */
        { { 1, 1, -1 }, false, { 0 } },
        { { 0, 1, 1 }, false, { 0 } },
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        assert_int_equal(run_meter_fits(meter, &known[i].pass), known[i].fits);
        if (!known[i].fits)
            continue;
        struct perf_sample sample = run_meter_step(meter, &known[i].pass, 2, TIME_NEVER);
        assert_memory_equal(&sample.load, &known[i].load, sizeof(sample.load));
        assert_true(sample.ps > 0);
    }
    run_meter_close(meter);
}

/* Even without any time there is a model. With some time its costs never fall with more work,
 * whatever else this machine did meanwhile. */
static void a_profile_is_always_usable(void **state)
{
    (void)state;
    static const int64_t budgets_ns[] = { 0, 50 * TIME_NS_PER_MS };
    for (size_t i = 0; i < COUNT_OF(budgets_ns); i++) {
        const struct run_profile_options options = { budgets_ns[i], 256, 32 };
        const struct perf_load load = { .n_decodes = 1, .n_decode_context = 64 };
        const struct perf_load longer = { .n_decodes = 2, .n_decode_context = 4096 };
        const struct perf_load word = { .n_new = 1, .n_new_squared = 1 };
        const struct perf_load prompt = { .n_new = 4096, .n_new_squared = 4096 * 4096 };
        struct perf perf;
        run_profile(&model, &options, &perf);
        assert_true(perf_step_ps(&perf, &load) > 0);
        assert_true(perf_step_ps(&perf, &longer) >= perf_step_ps(&perf, &load));
        assert_true(perf_step_ps(&perf, &word) > 0);
        assert_true(perf_step_ps(&perf, &prompt) >= perf_step_ps(&perf, &word));
    }
}

/* Returns the system's own count of this process's bytes. */
static int64_t bytes_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return (int64_t)info.uordblks + (int64_t)info.hblkhd;
}

/* Returns false under a sanitizer, which does not use the heap. */
static bool counts_bytes(void)
{
    if (late_is_wanted())
        return false; /* its memory is not on the heap */
    int64_t before = bytes_in_use();
    void *probe = mem_take(1 << 20);
    int64_t took = bytes_in_use() - before;
    mem_give(probe);
    return took >= 1 << 20;
}

/* A meter takes the bytes that it announces, so that a caller's bound on it bounds the memory. */
static void a_meter_takes_what_it_says(void **state)
{
    (void)state;
    static const struct run_meter_options known[] = { { 64, 8, 512 },
                                                      { 256, 32, 8192 },
                                                      { 32, 1, 32, DTYPE_F32 } };
    if (!counts_bytes())
        skip();
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        int64_t before = bytes_in_use();
        struct run_meter *meter = run_meter_open(&model, &known[i]);
        int64_t said = run_meter_bytes(&model, &known[i]), took = bytes_in_use() - before;
        assert_true(took >= said && took < said + (64 << 10));
        run_meter_close(meter);
    }
}

static int64_t resident_bytes(void)
{
    int64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %" SCNd64, &pages), 1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Memory that was only read is one page of zeros, which stays in the first-level cache. */
static void a_decode_reads_keys_and_values_of_its_own(void **state)
{
    (void)state;
    enum { SEQUENCES = 512, BEFORE = 255 };
    const struct run_meter_options options = { SEQUENCES, SEQUENCES, SEQUENCES * (BEFORE + 1) };
    const struct run_meter_pass first = { SEQUENCES, 1, 0 }, pass = { SEQUENCES, 1, BEFORE };
    int64_t cache = SEQUENCES * (BEFORE + 1) *
                    model_spec_kv_bytes_per_token(weights_spec(model.weights), DTYPE_F16);
    assert_int_equal(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0); /* one token would write 2 MiB */
    struct run_meter *meter = run_meter_open(&model, &options);
    (void)run_meter_step(meter, &first, 1, TIME_NEVER); /* touches everything except the cache */
    int64_t before = resident_bytes();
    assert_true(cache >= 64 << 20); /* too much for memory that was used before */
    (void)run_meter_step(meter, &pass, 1, TIME_NEVER);
    assert_true(resident_bytes() - before >= cache / 4 * 3);
    run_meter_close(meter);
    assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
}

static void a_profile_is_usable_in_little_memory(void **state)
{
    (void)state;
    static const int64_t bounds[] = { 1, 200 << 10, 1 << 20, 4 << 20 };
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        const struct run_profile_options options = { 20 * TIME_NS_PER_MS, 256, 32, bounds[i] };
        const struct perf_load load = { .n_decodes = 1, .n_decode_context = 64 };
        struct perf perf;
        run_profile(&model, &options, &perf);
        assert_true(perf_step_ps(&perf, &load) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_that_fit_are_measured),
        cmocka_unit_test(a_profile_is_always_usable),
        cmocka_unit_test(a_meter_takes_what_it_says),
        cmocka_unit_test(a_decode_reads_keys_and_values_of_its_own),
        cmocka_unit_test(a_profile_is_usable_in_little_memory),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
