/* Stop strings against a naive matcher, with the text growing by random pieces. */
#include "test.h"
#include "api/stops.h"
#include "base/rng.h"

struct expected {
    bool is_found;
    size_t start, end;
};

/* Searches byte by byte: the first end of any stop string, and the longest of those that end
 * there. */
static struct expected find_naively(const struct api_stops *stops, struct view text)
{
    for (size_t end = 1; end <= text.n; end++) {
        struct expected best = { 0 };
        for (int32_t i = 0; i < stops->n; i++) {
            struct view stop = stops->texts[i];
            if (stop.n > end || memcmp(text.at + end - stop.n, stop.at, stop.n) != 0)
                continue;
            if (!best.is_found || end - stop.n < best.start)
                best = (struct expected){ true, end - stop.n, end };
        }
        if (best.is_found)
            return best;
    }
    return (struct expected){ 0 };
}

static bool could_begin(const struct api_stops *stops, struct view text, size_t at)
{
    for (int32_t i = 0; i < stops->n; i++)
        if (stops->texts[i].n > text.n - at &&
            memcmp(stops->texts[i].at, text.at + at, text.n - at) == 0)
            return true;
    return false;
}

static void run_one(struct rng *rng)
{
    static char stop_bytes[LIMIT_STOP_TEXTS][8];
    struct api_stops stops = { .n = (int32_t)(1 + rng_below(rng, 4)) };
    char text[64];
    for (int32_t i = 0; i < stops.n; i++) {
        size_t n = 1 + rng_below(rng, 6);
        for (size_t j = 0; j < n; j++)
            stop_bytes[i][j] = (char)('a' + rng_below(rng, 2));
        stops.texts[i] = view_of(stop_bytes[i], n);
    }
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + rng_below(rng, 3));
    size_t n = 0, shown = 0;
    while (n < sizeof(text)) {
        n += 1; /* the API looks after each token: one byte here, up to three below */
        if (rng_below(rng, 2) == 0 && n + 2 <= sizeof(text))
            n += 2;
        struct view so_far = view_of(text, n);
        struct expected expected = find_naively(&stops, so_far);
        struct api_stops_found found = api_stops_find(&stops, so_far, shown);
        assert_int_equal(found.is_found, expected.is_found);
        if (found.is_found) {
            assert_int_equal(found.start, expected.start);
            assert_int_equal(found.end, expected.end);
            assert_true(shown <= found.start); /* none of it was shown */
            return;
        }
        size_t safe = api_stops_safe(&stops, so_far, shown);
        for (size_t at = shown; at < safe; at++)
            assert_false(could_begin(&stops, so_far, at));
        assert_true(safe == n || could_begin(&stops, so_far, safe)); /* not held back needlessly */
        shown = safe;
    }
}

static void test_against_naive(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(11), 0);
    for (int i = 0; i < 20000; i++)
        run_one(&rng);
}

static void test_none(void **state)
{
    (void)state;
    struct api_stops stops = { 0 };
    assert_false(api_stops_find(&stops, view_text("abc"), 0).is_found);
    assert_int_equal(api_stops_safe(&stops, view_text("abc"), 1), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_naive),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
