/* Samples of a window: what stays, what varies, and how scores are added up. */
#include "judged.h"
#include "place/samples.h"
#include <math.h>

static struct place_desk desk_of(struct small *small, const struct place_judge *judge)
{
    return (struct place_desk){
        .problem = &small->problem, .judge = judge, .pile = &small->pile, .seed = 1, .effort = 1
    };
}

static int32_t count_of(const struct place_window *window, int32_t service)
{
    int32_t n = 0;
    for (int32_t i = 0; i < window->n; i++)
        n += window->requests[i].service == service;
    return n;
}

static void small_windows_are_all_that_there_is(void **state)
{
    static struct small small;
    struct place_samples samples;
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 10, PLACE_SAMPLE_LEAST - 1);
    small_measure(&small);
    struct place_desk desk = desk_of(&small, NULL);
    place_samples_open(&samples, &desk);
    assert_int_equal(samples.n, 1);
    assert_ptr_equal(samples.windows[0].requests, small.problem.window.requests);
    assert_int_equal(samples.windows[0].n, small.problem.window.n);
    small_close(&small);
}

/* Even arrivals do not drift: every sample has about as many requests of each service, in order,
 * within its span. */
static void even_arrivals_stay_as_many(void **state)
{
    static struct small small;
    struct place_samples samples, again;
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 10, 600);
    small_add(&small, 10, 200);
    small_measure(&small);
    struct place_desk desk = desk_of(&small, NULL);
    place_samples_open(&samples, &desk);
    place_samples_open(&again, &desk);
    assert_int_equal(samples.n, PLACE_SAMPLES);
    assert_int_equal(samples.n_blocks, PLACE_SAMPLE_BLOCKS);
    assert_true(samples.drift == 0);
    for (int32_t k = 0; k < samples.n; k++) {
        const struct place_window *window = &samples.windows[k];
        assert_in_range(count_of(window, 0), 560, 640);
        assert_in_range(count_of(window, 1), 180, 220);
        for (int32_t i = 0; i < window->n; i++) {
            assert_true(window->requests[i].arrived_ns >= 0);
            assert_true(window->requests[i].arrived_ns < window->span_ns);
            assert_true(i == 0 ||
                        window->requests[i].arrived_ns >= window->requests[i - 1].arrived_ns);
        }
        assert_int_equal(again.windows[k].n, window->n);
        assert_memory_equal(again.windows[k].requests, window->requests,
                            (size_t)window->n * sizeof(*window->requests));
    }
    assert_memory_equal(samples.windows[0].requests, small.problem.window.requests,
                        (size_t)small.problem.window.n * sizeof(struct place_request));
    assert_true(samples.windows[2].span_ns < samples.windows[0].span_ns * 9 / 10); /* quicker */
    small_close(&small);
}

/* A request that arrives at the very end, as in a window that ends with an arrival, belongs to its
 * last span. */
static void the_last_instant_is_in_the_last_span(void **state)
{
    static struct small small;
    struct place_samples samples;
    (void)state;
    small_open(&small, 1, 1);
    small_add(&small, 10, 100);
    small_measure(&small);
    small.problem.window.span_ns = small.requests[99].arrived_ns;
    struct place_desk desk = desk_of(&small, NULL);
    place_samples_open(&samples, &desk);
    assert_int_equal(samples.n, PLACE_SAMPLES);
    assert_int_equal(samples.windows[0].n, 100);
    for (int32_t k = 0; k < samples.n; k++) {
        const struct place_window *window = &samples.windows[k];
        assert_in_range(window->n, 50, 150);
        assert_true(window->requests[window->n - 1].arrived_ns < window->span_ns);
    }
    small_close(&small);
}

/* One service arrives only in the first half, one only in the last, so the next one is unknown. */
static void what_drifts_varies(void **state)
{
    static struct small small;
    struct place_samples samples;
    int32_t least = INT32_MAX, most = 0;
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 10, 600);
    small_add(&small, 10, 60);
    for (int32_t i = 0; i < small.problem.window.n; i++) {
        struct place_request *r = &small.requests[i];
        r->arrived_ns = r->arrived_ns / 2 + (r->service == 0 ? (int64_t)30e9 : 0);
    }
    small_measure(&small);
    struct place_desk desk = desk_of(&small, NULL);
    place_samples_open(&samples, &desk);
    assert_true(samples.drift > 0.5);
    for (int32_t k = 1; k < samples.n; k++) {
        least = min_i32(least, count_of(&samples.windows[k], 0));
        most = max_i32(most, count_of(&samples.windows[k], 0));
    }
    assert_true(most > 2 * least); /* of a pair one has more, one less */
    small_close(&small);
}

static void long_windows_are_cut(void **state)
{
    static struct small small;
    struct place_samples samples;
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 10, 3000);
    small_add(&small, 10, 1000);
    small_measure(&small);
    struct place_desk desk = desk_of(&small, NULL);
    place_samples_open(&samples, &desk);
    assert_int_equal(samples.n_blocks, PLACE_SAMPLE_BLOCKS / 4);
    const struct place_window *whole = &small.problem.window, *last = &samples.windows[0];
    assert_in_range(last->n, 1990, 2010); /* the seen window has twice as much as is drawn */
    assert_in_range(samples.windows[1].n, 900, 1100);
    assert_int_equal(last->requests[last->n - 1].n_prompt, whole->requests[whole->n - 1].n_prompt);
    desk.effort = 4;
    place_samples_open(&samples, &desk);
    assert_int_equal(samples.n_blocks, PLACE_SAMPLE_BLOCKS);
    small_close(&small);
}

/* Usual samples would be over while most requests are still served. So there are fewer samples,
 * which last for ten such requests in sequence, or have the maximum number of requests. */
static void short_windows_are_drawn_longer(void **state)
{
    static const struct {
        int64_t gib;
        int32_t n, n_samples;
    } rows[] = { { 10, 4000, PLACE_SAMPLES }, { 60, 1600, 3 }, { 60, 4000, 2 }, { 480, 4000, 2 } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        static struct small small;
        struct place_samples samples;
        small_open(&small, 1, 8);
        small_add(&small, rows[i].gib, rows[i].n);
        small_measure(&small);
        struct place_desk desk = desk_of(&small, NULL);
        place_samples_open(&samples, &desk);
        assert_int_equal(samples.n, rows[i].n_samples);
        assert_in_range(samples.windows[0].n, rows[i].n > 1600 ? 1990 : 1600, 2010);
        const struct place_window *drawn = &samples.windows[1];
        double lasts = (double)drawn->span_ns * 1e-9 / small.services[0].solo_s;
        if (i == 0)
            assert_true(samples.length == 1);
        else if (drawn->n < PLACE_SAMPLE_LONG * 0.98)
            assert_true(lasts > PLACE_SAMPLE_SOLOS / 1.2 && lasts < 1.2 * PLACE_SAMPLE_SOLOS);
        else
            assert_true(lasts < PLACE_SAMPLE_SOLOS && samples.length > 1.9);
        assert_true(drawn->n < PLACE_SAMPLE_LONG * 1.05);
        double pace = samples.n == 2 ? 1.2 : 1; /* alone it is a quicker one */
        double seen_per_s = pace * rows[i].n / 60,
               per_s = drawn->n / ((double)drawn->span_ns * 1e-9);
        assert_true(per_s > 0.9 * seen_per_s && per_s < 1.1 * seen_per_s);
        small_close(&small);
    }
}

/* plans: the more expensive one, and the cheaper one, with the scores over all samples. */
static void races_drop_the_dearer(struct place_samples *all, const struct place_plan *const *plans,
                                  struct place_score *scores)
{
    const struct place_score own = scores[1];
    double costs[2], both[2];
    place_samples_race(all, plans, 2, 2, scores, both);
    assert_true(both[1] < both[0] && both[0] < PLACE_COST_LOST);
    assert_int_equal(place_judge_compare(&scores[1], &own), 0);
    place_samples_aim(all, plans[0]);
    for (int32_t k = 1; k < all->n; k++) { /* the dearest first, and no other sums */
        double dear, less;
        if (all->order[k - 1] == 0 || all->order[k] == 0)
            continue; /* it is twice as long, and counts for half there */
        struct place_samples one = *all, next = *all;
        one.n = next.n = 1;
        one.windows[0] = all->windows[all->order[k - 1]];
        next.windows[0] = all->windows[all->order[k]];
        one.order[0] = next.order[0] = 0;
        place_samples_race(&one, plans, 1, 1, scores, &dear);
        place_samples_race(&next, plans, 1, 1, scores, &less);
        assert_true(dear >= less);
    }
    place_samples_race(all, plans, 2, 2, scores, costs);
    assert_true(fabs(costs[0] - both[0]) < 1e-9 && fabs(costs[1] - both[1]) < 1e-9);
    both[1] = costs[1];
    place_samples_race(all, plans, 2, 1, scores, costs);
    assert_true(costs[0] == PLACE_COST_LOST && costs[1] == both[1]);
    place_samples_challenge(all, plans, 2, 2, scores, costs); /* its own plan, and a cheaper */
    assert_true(fabs(costs[0] - both[0]) < 1e-9 && costs[1] == both[1]);
    place_samples_aim(all, plans[1]);
    place_samples_challenge(all, plans, 2, 2, scores, costs);
    assert_true(costs[0] == PLACE_COST_LOST && fabs(costs[1] - both[1]) < 1e-9);
}

static void scores_are_of_all_samples(void **state)
{
    static struct small small;
    struct judged judged;
    struct place_samples samples;
    struct place_plan apart, together;
    struct place_service_score services[3][2];
    struct place_score scores[2] = { { .services = services[0] }, { .services = services[1] } };
    struct place_score own = { .services = services[2] };
    (void)state;
    small_open(&small, 1, 2);
    small_add(&small, 30, 300);
    small_add(&small, 30, 300);
    small_measure(&small);
    judged_open(&judged, &small);
    struct place_desk desk = desk_of(&small, &judged.face);
    place_samples_open(&samples, &desk);
    place_plan_init(&apart, &small.problem, &small.pile);
    place_plan_cut(&apart, &small.problem, 1);
    place_plan_init(&together, &small.problem, &small.pile);
    place_plan_copy(&together, &apart);
    place_group_add(&apart.groups[0], 0);
    place_group_add(&apart.groups[1], 1);
    place_group_add(&together.groups[0], 0);
    place_group_add(&together.groups[0], 1);
    const struct place_plan *plans[] = { &together, &apart };
    struct place_judge face = place_samples_face(&samples);
    face.score(face.self, plans, 2, &small.problem.window, scores);
    for (int p = 0; p < 2; p++) {
        int64_t n = 0, n_met = 0;
        double normalized = 0;
        for (int32_t k = 0; k < samples.n; k++) {
            judged.face.score(judged.face.self, &plans[p], 1, &samples.windows[k], &own);
            n += samples.windows[k].n;
            n_met += own.services[0].n_met + own.services[1].n_met;
            normalized += own.services[0].normalized + own.services[1].normalized;
        }
        assert_int_equal(scores[p].services[0].n + scores[p].services[1].n, n);
        assert_true(fabs(scores[p].attainment - (double)n_met / (double)n) < 1e-12);
        assert_true(fabs(scores[p].normalized - normalized / (double)n) < 1e-9);
        assert_int_equal(scores[p].n_placed, 2);
    }
    assert_true(place_judge_compare(&scores[1], &scores[0]) > 0);
    races_drop_the_dearer(&samples, plans, scores);
    assert_true(face.work(face.self) == judged.face.work(judged.face.self));
    judged_close(&judged);
    small_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_windows_are_all_that_there_is),
        cmocka_unit_test(even_arrivals_stay_as_many),
        cmocka_unit_test(the_last_instant_is_in_the_last_span),
        cmocka_unit_test(what_drifts_varies),
        cmocka_unit_test(long_windows_are_cut),
        cmocka_unit_test(short_windows_are_drawn_longer),
        cmocka_unit_test(scores_are_of_all_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
