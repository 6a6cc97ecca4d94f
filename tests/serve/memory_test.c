/* Tests of the division of memory: all parts fit into any machine, otherwise the configuration is
 * refused. */
#include "../test.h"
#include "serve/memory.h"
#include <string.h>

static const int64_t mib = INT64_C(1) << 20;

static int64_t sum_of(const struct serve_memory *memory, int64_t engines_bytes, int n)
{
    return engines_bytes + memory->http_bytes + n * memory->body_bytes + 3 * memory->bus_bytes;
}

static void the_usual_always_fits(void **state)
{
    (void)state;
    static struct config config;
    struct fault fault;
    struct serve_memory memory;
    for (int64_t total = 256 * mib; total < INT64_C(1) << 44; total += total / 3)
        for (int n = 1; n <= LIMIT_DEVICES; n++) {
            int64_t engines = serve_memory_usual(&config, total, n);
            assert_true(engines > 0 && engines <= total * 7 / 10);
            if (n * 32 * mib > total)
                continue; /* too many engines for so little memory are refused */
            assert_int_equal(serve_memory_divide(&config, total, n, engines, &memory, &fault),
                             STATUS_OK);
            assert_true(memory.http_bytes >= CONFIG_HTTP_BYTES_MIN);
            assert_true(sum_of(&memory, engines, n) <= total - 32 * mib);
        }
    assert_true(serve_memory_usual(&config, INT64_C(24) << 30, 2) == (INT64_C(24) << 30) * 7 / 10);
}

static void what_is_asked_for_is_given_or_refused(void **state)
{
    (void)state;
    struct config config = { .http_bytes = 100 * mib };
    struct fault fault;
    struct serve_memory memory;
    assert_int_equal(serve_memory_divide(&config, 1024 * mib, 1, 500 * mib, &memory, &fault),
                     STATUS_OK);
    assert_true(memory.http_bytes == 100 * mib);
    assert_int_equal(serve_memory_divide(&config, 1024 * mib, 1, 900 * mib, &memory, &fault),
                     STATUS_TOO_LARGE);
    assert_string_equal(fault.text, "memory: 900 MiB are wanted for 1 engine, and this machine has "
                                    "1024 MiB, of which requests and answers take 100 "
                                    "(http_memory) and the rest 120");
    config.http_bytes = 0; /* then it shrinks as far as it can */
    assert_int_equal(serve_memory_divide(&config, 1024 * mib, 1, 880 * mib, &memory, &fault),
                     STATUS_OK);
    assert_true(memory.http_bytes == 24 * mib);
    assert_int_equal(serve_memory_divide(&config, 1024 * mib, 1, 900 * mib, &memory, &fault),
                     STATUS_TOO_LARGE);
    config.swap_bytes = 100 * mib; /* of each engine */
    assert_int_equal(serve_memory_divide(&config, 1024 * mib, 2, 500 * mib, &memory, &fault),
                     STATUS_OK);
    assert_int_equal(serve_memory_divide(&config, 1024 * mib, 2, 750 * mib, &memory, &fault),
                     STATUS_TOO_LARGE);
    assert_int_equal(
        serve_memory_divide(&config, 1024 * mib, 16, INT64_C(1) << 54, &memory, &fault),
        STATUS_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_always_fits),
        cmocka_unit_test(what_is_asked_for_is_given_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
