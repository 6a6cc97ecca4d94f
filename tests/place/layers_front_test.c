/* The front against all ordered subsets and splits, and against a search without classes. */
#include "test.h"

#include "base/rng.h"
#include "place/layers_front.h"

enum { N_MAX = 12, L_MAX = 24 };

struct world {
    struct layers_device devices[N_MAX];
    int64_t link[N_MAX * N_MAX];
    struct layers_problem problem;
};

static void point(struct world *w, int32_t n, int32_t n_layers, bool returns)
{
    w->problem = (struct layers_problem){ .n_devices = n,
                                          .n_layers = n_layers,
                                          .devices = w->devices,
                                          .link_ps = w->link,
                                          .returns = returns };
}

/* Few different figures, so that some devices are equal and some are not. */
static void draw(struct world *w, struct rng *rng, int32_t n, int32_t n_layers)
{
    point(w, n, n_layers, rng_below(rng, 2) == 1);
    uint32_t n_kinds = 1 + rng_below(rng, 5), n_links = 1 + rng_below(rng, 4);
    for (int32_t d = 0; d < n; d++) {
        w->devices[d].layer_ps = 3 + 4 * (int64_t)rng_below(rng, n_kinds);
        w->devices[d].n_layers_max = (int32_t)rng_below(rng, 2 + n_kinds);
    }
    for (int32_t i = 0; i < n * n; i++)
        w->link[i] = 1 + 5 * (int64_t)rng_below(rng, n_links);
}

/* Draws machines of `size` devices: fast links within, slow ones between; kinds repeat. */
static void draw_machines(struct world *w, struct rng *rng, int32_t n_machines, int32_t size)
{
    int32_t n = n_machines * size;
    point(w, n, 1 + (int32_t)rng_below(rng, L_MAX), rng_below(rng, 2) == 1);
    bool is_mixed = rng_below(rng, 3) == 0;
    int64_t inner = 1 + rng_below(rng, 4), outer = inner + rng_below(rng, 20);
    for (int32_t d = 0; d < n; d++) {
        int32_t kind = is_mixed ? d % size : d / size < n_machines / 2;
        w->devices[d].layer_ps = 5 + 3 * (kind % 2);
        w->devices[d].n_layers_max = 2 + kind;
    }
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = 0; b < n; b++)
            w->link[a * n + b] = a / size == b / size ? inner : outer;
}

/* ---- All ordered subsets, all splits. ---- */

struct brute {
    const struct layers_problem *problem;
    struct layers_part parts[N_MAX];
    bool is_used[N_MAX];
    int64_t best[N_MAX + 1];
};

static void try_all(struct brute *b, int32_t n, int32_t n_left)
{
    if (n_left == 0) {
        b->best[n] = min_i64(b->best[n], layers_step_ps(b->problem, b->parts, n));
        return;
    }
    for (int32_t d = 0; d < b->problem->n_devices; d++) {
        if (b->is_used[d])
            continue;
        b->is_used[d] = true;
        for (int32_t k = 1; k <= min_i32(n_left, b->problem->devices[d].n_layers_max); k++) {
            b->parts[n] = (struct layers_part){ d, k };
            try_all(b, n + 1, n_left - k);
        }
        b->is_used[d] = false;
    }
}

/* Compares a front with the least for exactly n, wherever n beats every smaller number. */
static void compare(const struct layers_problem *problem, const int64_t *least)
{
    struct layers_front front;
    struct fault fault;
    int64_t so_far = INT64_MAX;
    assert_int_equal(layers_front_open(&front, problem, false, &fault), STATUS_OK);
    for (int32_t n = 1; n <= front.n_max; n++) {
        assert_int_equal(front.cost_ps[n], least[n] < so_far ? least[n] : INT64_MAX);
        so_far = min_i64(so_far, least[n]);
        if (front.cost_ps[n] == INT64_MAX)
            continue;
        struct layers_plan plan;
        layers_front_plan(&front, n, &plan);
        assert_int_equal(plan.n_parts, n);
        assert_int_equal(layers_check(problem, &plan, &fault), STATUS_OK);
        assert_int_equal(plan.step_ps, least[n]);
    }
    layers_front_close(&front);
}

static void test_equals_brute_force(void **state)
{
    (void)state;
    struct rng rng;
    int n_feasible = 0;
    rng_init(&rng, test_seed(5), 0);
    for (int trial = 0; trial < 3000; trial++) {
        static struct world w;
        struct brute b = { .problem = &w.problem };
        int32_t room = 0;
        draw(&w, &rng, 1 + (int32_t)rng_below(&rng, 5), 1 + (int32_t)rng_below(&rng, 8));
        for (int32_t d = 0; d < w.problem.n_devices; d++)
            room += w.devices[d].n_layers_max;
        if (room < w.problem.n_layers)
            continue;
        for (int n = 0; n <= N_MAX; n++)
            b.best[n] = INT64_MAX;
        try_all(&b, 0, w.problem.n_layers);
        compare(&w.problem, b.best);
        n_feasible++;
    }
    assert_true(n_feasible > 1000);
}

/* ---- A search over every set of devices: 2^n sets. ---- */

static int64_t fill_of(const struct layers_problem *p, uint32_t set)
{
    int64_t ps = 0, n_left = p->n_layers - __builtin_popcount(set);
    uint32_t open = set;
    for (int32_t d = 0; d < p->n_devices; d++)
        ps += (set >> d & 1) != 0 ? p->devices[d].layer_ps : 0;
    while (n_left > 0 && open != 0) {
        int32_t best = -1;
        for (int32_t d = 0; d < p->n_devices; d++)
            if ((open >> d & 1) != 0 &&
                (best < 0 || p->devices[d].layer_ps < p->devices[best].layer_ps))
                best = d;
        int64_t n = min_i64(n_left, p->devices[best].n_layers_max - 1);
        ps += n * p->devices[best].layer_ps;
        n_left -= n;
        open &= ~(UINT32_C(1) << best);
    }
    return n_left > 0 ? INT64_MAX : ps;
}

/* Searches paths that begin in `first`, which is the lowest of its set when the way leads back. */
static void search_from(const struct layers_problem *p, int32_t first, int64_t *least)
{
    static int64_t path[1 << N_MAX][N_MAX];
    int32_t n = p->n_devices;
    for (uint32_t set = 0; set < UINT32_C(1) << n; set++)
        for (int32_t d = 0; d < n; d++)
            path[set][d] = INT64_MAX;
    path[UINT32_C(1) << first][first] = 0;
    for (uint32_t set = 1; set < UINT32_C(1) << n; set++) {
        int64_t fill = fill_of(p, set);
        int32_t k = __builtin_popcount(set);
        for (int32_t d = 0; d < n; d++) {
            if (path[set][d] == INT64_MAX)
                continue;
            int64_t back = p->returns && k > 1 ? p->link_ps[d * n + first] : 0;
            if (fill < INT64_MAX && k <= p->n_layers)
                least[k] = min_i64(least[k], fill + path[set][d] + back);
            for (int32_t v = p->returns ? first : 0; v < n; v++) {
                uint32_t more = set | UINT32_C(1) << v;
                if (more != set && p->devices[v].n_layers_max > 0)
                    path[more][v] = min_i64(path[more][v], path[set][d] + p->link_ps[d * n + v]);
            }
        }
    }
}

static void test_equal_devices_are_grouped_exactly(void **state)
{
    (void)state;
    static const int32_t shapes[][2] = {
        { 2, 3 }, { 3, 2 }, { 2, 4 }, { 4, 2 }, { 3, 3 }, { 5, 2 }
    };
    struct rng rng;
    int n_feasible = 0;
    rng_init(&rng, test_seed(6), 0);
    for (int trial = 0; trial < 240; trial++) {
        static struct world w;
        int64_t least[N_MAX + 1], room = 0;
        const int32_t *shape = shapes[trial % (int)COUNT_OF(shapes)];
        draw_machines(&w, &rng, shape[0], shape[1]);
        for (int32_t d = 0; d < w.problem.n_devices; d++)
            room += w.devices[d].n_layers_max;
        if (room < w.problem.n_layers)
            continue;
        for (int n = 0; n <= N_MAX; n++)
            least[n] = INT64_MAX;
        for (int32_t first = 0; first < w.problem.n_devices; first++)
            if (w.devices[first].n_layers_max > 0)
                search_from(&w.problem, first, least);
        compare(&w.problem, least);
        n_feasible++;
    }
    assert_true(n_feasible > 100);
}

static void test_equal_machines_are_few_sets(void **state)
{
    (void)state;
    enum { D = 64 };
    static struct layers_device devices[D];
    static int64_t link[D * D];
    struct fault fault;
    struct layers_front front;
    struct layers_plan plan;
    for (int d = 0; d < D; d++)
        devices[d] = (struct layers_device){ .layer_ps = 1000, .n_layers_max = 2 };
    for (int i = 0; i < D * D; i++)
        link[i] = i / D / 8 == i % D / 8 ? 10 : 30;
    const struct layers_problem problem = { D, 80, devices, link, true };
    assert_int_equal(layers_front_open(&front, &problem, false, &fault), STATUS_OK);
    assert_true(front.cost_ps[40] < INT64_MAX);
    layers_front_plan(&front, 40, &plan);
    /* 40 devices are 5 machines: 35 links within, 5 between with the way back. */
    assert_int_equal(plan.step_ps, 80 * 1000 + 35 * 10 + 5 * 30);
    assert_true(plan.n_states < 200000);
    layers_front_close(&front);
}

static void test_too_many_kinds_are_refused(void **state)
{
    (void)state;
    enum { D = 26 };
    static struct layers_device devices[D];
    static int64_t link[D * D];
    struct fault fault;
    struct layers_front front;
    for (int d = 0; d < D; d++)
        devices[d] = (struct layers_device){ .layer_ps = 1000 + d, .n_layers_max = 2 };
    for (int i = 0; i < D * D; i++)
        link[i] = 1;
    const struct layers_problem problem = { D, 50, devices, link, false };
    assert_int_equal(layers_front_open(&front, &problem, false, &fault), STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, "26 devices in 26 kinds"));
    layers_front_close(&front);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_brute_force),
        cmocka_unit_test(test_equal_devices_are_grouped_exactly),
        cmocka_unit_test(test_equal_machines_are_few_sets),
        cmocka_unit_test(test_too_many_kinds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
