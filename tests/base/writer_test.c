/* Records go to a slow place in order and once each, and a place that fails holds no caller up. */
#include "base/writer.h"

#include "base/time.h"
#include "test.h"
#include <stdatomic.h>
#include <string.h>

struct place {
    _Atomic bool is_broken;
    _Atomic int n_calls, n_written;
    int64_t next; /* that is expected */
    bool is_in_order;
};

static bool write_some(void *self, struct ring *ring)
{
    struct place *place = self;
    const void *record;
    size_t n_bytes;
    place->n_calls++;
    if (place->is_broken)
        return false;
    if (!ring_peek(ring, &record, &n_bytes))
        return true;
    int64_t number;
    memcpy(&number, record, sizeof number);
    place->is_in_order =
        place->is_in_order && n_bytes == 2 * sizeof number && number == place->next++;
    ring_pop(ring);
    place->n_written++;
    return true;
}

static struct writer *start(struct place *place)
{
    *place = (struct place){ .is_in_order = true };
    return writer_start(&(struct writer_options){
        .name = "slow", .ring_bytes = 1 << 12, .write = write_some, .self = place });
}

static bool put(struct writer *w, int64_t number)
{
    return writer_put(w, &number, sizeof number, &number, sizeof number);
}

static void test_all_is_written(void **state)
{
    enum { N = 5000 };
    struct place place;
    (void)state;
    struct writer *w = start(&place);
    for (int64_t i = 0; i < N;) {
        if (put(w, i))
            i++;
        writer_wake(w);
    }
    writer_end(w);
    assert_true(place.is_in_order && place.n_written == N);
    writer_end(NULL);
}

/* While the place fails, puts are refused when the queue is full, and nothing waits. When it is
 * well again, what was put is written. */
static void test_a_place_that_fails(void **state)
{
    struct place place;
    (void)state;
    struct writer *w = start(&place);
    place.is_broken = true;
    int64_t begin_ns = time_now_ns();
    int n = 0;
    while (n < 1000 && put(w, n))
        n++;
    assert_true(n > 100 && n < 1000 && time_now_ns() - begin_ns < TIME_NS_PER_S);
    writer_wake(w);
    while (place.n_calls < 2)
        time_sleep_ns(TIME_NS_PER_MS);
    assert_false(put(w, n));
    place.is_broken = false;
    while (place.n_written < n) /* by itself, after a second */
        time_sleep_ns(TIME_NS_PER_MS);
    assert_true(put(w, n));
    writer_end(w);
    assert_true(place.is_in_order && place.n_written == n + 1);
    w = start(&place);
    place.is_broken = true;
    assert_true(put(w, 0));
    writer_end(w); /* does not wait for a place that fails */
    assert_int_equal(place.n_written, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_is_written),
                                        cmocka_unit_test(test_a_place_that_fails) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
