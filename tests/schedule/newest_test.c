/* The few requests that arrived last, or first, against a look at all that run. */
#include "test.h"
#include "base/rng.h"
#include "schedule/newest.h"
#include "schedule/fcfs.h"
#include "schedule/policies.h"

enum { N_SLOTS = 64, N_SERVICES = 2 };

struct world {
    struct schedule_newest newest[N_SERVICES], oldest[N_SERVICES];
    struct schedule_service services[N_SERVICES];
    struct request requests[N_SLOTS];
    uint32_t running[N_SERVICES][N_SLOTS];
    struct schedule_view view;
    struct rng rng;
};

static void world_open(struct world *w)
{
    memset(w, 0, sizeof(*w));
    rng_init(&w->rng, test_seed(9), 0);
    for (int i = 0; i < N_SERVICES; i++)
        w->services[i].running = w->running[i];
    w->view = (struct schedule_view){
        .n_services = N_SERVICES, .n_lanes = 1, .services = w->services, .requests = w->requests
    };
    schedule_newest_open(w->newest, N_SERVICES, false);
    schedule_newest_open(w->oldest, N_SERVICES, true);
}

static void tell(struct world *w, const struct schedule_event *event)
{
    schedule_newest_saw(w->newest, &w->view, event);
    schedule_newest_saw(w->oldest, &w->view, event);
}

/* Equal priorities and equal times are frequent. */
static void start(struct world *w, int service, uint64_t id)
{
    struct schedule_service *s = &w->services[service];
    struct batch batch = { .service = (uint16_t)service };
    const struct schedule_event event = { .what = SCHEDULE_STARTED, .batch = &batch };
    int n = (int)rng_below(&w->rng, 4);
    for (uint32_t slot = 0; slot < N_SLOTS && n > 0; slot++) {
        if (w->requests[slot].state != REQUEST_FREE)
            continue;
        w->requests[slot] = (struct request){ .state = REQUEST_RUNNING,
                                              .service = (uint16_t)service,
                                              .priority = (int16_t)rng_below(&w->rng, 2),
                                              .arrived_ns = (int64_t)rng_below(&w->rng, 40),
                                              .id = id * 8 + (uint64_t)n };
        w->running[service][s->n_running++] = slot;
        n--;
    }
    tell(w, &event);
}

static void stop(struct world *w, int service)
{
    struct schedule_service *s = &w->services[service];
    bool is_preempted = rng_below(&w->rng, 2) == 0;
    if (s->n_running == 0)
        return;
    uint32_t i = rng_below(&w->rng, s->n_running), slot = w->running[service][i];
    struct schedule_event event = { .what = is_preempted ? SCHEDULE_PREEMPTED : SCHEDULE_GONE,
                                    .slot = slot };
    if (!is_preempted)
        tell(w, &event);
    s->n_running--;
    memmove(&w->running[service][i], &w->running[service][i + 1],
            (s->n_running - i) * sizeof(uint32_t));
    if (is_preempted)
        tell(w, &event);
    w->requests[slot].state = REQUEST_FREE;
}

/* The n-th of all that run, found by counting those before it. */
static uint32_t nth_of(const struct world *w, int service, uint32_t n, bool oldest_first)
{
    const struct schedule_service *s = &w->services[service];
    for (uint32_t i = 0; i < s->n_running; i++) {
        uint32_t n_before = 0;
        for (uint32_t k = 0; k < s->n_running; k++) {
            uint32_t a = s->running[oldest_first ? k : i], b = s->running[oldest_first ? i : k];
            n_before += i != k && schedule_fcfs_is_before(NULL, &w->view, a, b);
        }
        if (n_before == n)
            return s->running[i];
    }
    return SCHEDULE_NONE;
}

static void lists_begin_with_the_first(void **state)
{
    struct world w;
    int64_t n_listed = 0;
    (void)state;
    world_open(&w);
    for (uint64_t i = 0; i < 4000; i++) {
        int service = (int)rng_below(&w.rng, N_SERVICES);
        if (rng_below(&w.rng, 3) == 0)
            start(&w, service, i);
        else
            stop(&w, service);
        for (int k = 0; k < N_SERVICES; k++) {
            const struct schedule_newest *lists[] = { &w.newest[k], &w.oldest[k] };
            for (int l = 0; l < 2; l++) {
                assert_true(schedule_newest_is_sound(lists[l], &w.view, k, SCHEDULE_NONE));
                assert_true(lists[l]->n > 0 || w.services[k].n_running == 0);
                for (uint32_t n = 0; n < (uint32_t)lists[l]->n; n++)
                    assert_int_equal(schedule_newest_nth(lists[l], n), nth_of(&w, k, n, l == 1));
                n_listed += lists[l]->n;
            }
        }
    }
    assert_true(n_listed > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lists_begin_with_the_first) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
