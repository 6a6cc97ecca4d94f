/* Tables at their points, between, beyond, and at places without a measurement. */
#include "test.h"
#include "base/rng.h"
#include "predict/grid.h"

static struct grid grid_of(const struct grid_point *points, int n)
{
    struct grid grid;
    struct fault fault;
    struct grid_point copy[64];
    memcpy(copy, points, (size_t)n * sizeof(*points));
    assert_int_equal(grid_open(&grid, copy, n, &fault), STATUS_OK);
    return grid;
}

static void bilinear_by_hand(void **state)
{
    (void)state;
    static const struct grid_point points[] = {
        { 4, 200, 80 },
        { 1, 100, 10 },
        { 1, 200, 20 },
        { 4, 100, 40 },
    };
    struct grid g = grid_of(points, 4);
    assert_true(g.n_x == 2 && g.n_y == 2);
    assert_true(grid_at(&g, 1, 100) == 10 && grid_at(&g, 4, 200) == 80);
    assert_true(grid_at(&g, 1, 150) == 15);
    assert_true(grid_at(&g, 2, 100) == 20);
    assert_true(grid_at(&g, 2.5, 150) == 37.5);
    assert_true(grid_at(&g, 0, 0) == 10);   /* below: the first value stands */
    assert_true(grid_at(&g, 7, 100) == 70); /* above: the slope goes on */
    assert_true(grid_at(&g, 1, 400) == 40);
    grid_free(&g);
    assert_true(grid_at(&g, 1, 1) == 0);
}

static void repeats_are_averaged_and_holes_filled(void **state)
{
    (void)state;
    static const struct grid_point points[] = {
        { 1, 1, 10 }, { 1, 1, 14 }, { 1, 3, 20 }, { 2, 2, 30 },
        { 3, 1, 40 }, { 3, 2, 50 }, { 3, 3, 60 },
    };
    struct grid g = grid_of(points, 7);
    assert_true(grid_at(&g, 1, 1) == 12);
    assert_true(grid_at(&g, 1, 2) == 16);                            /* between 12 and 20 */
    assert_true(grid_at(&g, 2, 1) == 30 && grid_at(&g, 2, 3) == 30); /* all that its row knows */
    grid_free(&g);
}

static void one_axis_and_one_point(void **state)
{
    (void)state;
    static const struct grid_point line[] = { { 1, 0, 5 }, { 3, 0, 9 } };
    struct grid g = grid_of(line, 2);
    assert_true(grid_at(&g, 2, 77) == 7 && grid_at(&g, 5, 0) == 13);
    grid_free(&g);
    g = grid_of(line, 1);
    assert_true(grid_at(&g, 100, 100) == 5);
    grid_free(&g);
    struct fault fault;
    assert_int_equal(grid_open(&g, NULL, 0, &fault), STATUS_BAD_INPUT);
}

/* A bilinear function is exact everywhere above the first point. */
static void bilinear_functions_are_exact(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 200; round++) {
        struct grid_point points[30];
        double a = rng_unit(&rng), b = rng_unit(&rng), c = rng_unit(&rng), d = rng_unit(&rng);
        double x = 0, y = 0, ys[5];
        for (int j = 0; j < 5; j++)
            ys[j] = y += 1 + rng_below(&rng, 50);
        for (int i = 0; i < 6; i++) {
            x += 1 + rng_below(&rng, 50);
            for (int j = 0; j < 5; j++)
                points[i * 5 + j] =
                    (struct grid_point){ x, ys[j], a + b * x + c * ys[j] + d * x * ys[j] };
        }
        struct grid g = grid_of(points, 30);
        for (int k = 0; k < 50; k++) {
            double at_x = points[0].x + 400 * rng_unit(&rng);
            double at_y = ys[0] + 400 * rng_unit(&rng);
            double wanted = a + b * at_x + c * at_y + d * at_x * at_y;
            double error = grid_at(&g, at_x, at_y) / wanted - 1;
            assert_true(error > -1e-9 && error < 1e-9);
        }
        grid_free(&g);
    }
}

/* 1 + a + 2 b + 3 c + 4 d + a d, on a grid with a hole; exact at and between its points. */
static double four(const double x[GRID4_AXES])
{
    return 1 + x[0] + 2 * x[1] + 3 * x[2] + 4 * x[3] + x[0] * x[3];
}

static void four_axes(void **state)
{
    (void)state;
    struct grid4_point points[81];
    struct grid4 g;
    struct fault fault;
    struct rng rng;
    int n = 0;
    rng_init(&rng, test_seed(2), 0);
    for (int i = 0; i < 81; i++) {
        struct grid4_point *p = &points[n];
        for (int k = 0, rest = i; k < GRID4_AXES; k++, rest /= 3)
            p->x[k] = (k + 1) * (rest % 3) + 1;
        p->value = four(p->x);
        n += i != 40; /* the middle: filled along the last axis, in which the function is linear */
    }
    assert_int_equal(grid_four_open(&g, points, n, &fault), STATUS_OK);
    for (int round = 0; round < 1000; round++) {
        double x[GRID4_AXES];
        for (int k = 0; k < GRID4_AXES; k++)
            x[k] = 1 + 4 * (k + 1) * rng_unit(&rng); /* beyond the last point, too */
        double error = grid_four_at(&g, x) / four(x) - 1;
        assert_true(error > -1e-9 && error < 1e-9);
    }
    grid_four_free(&g);
    assert_int_equal(grid_four_open(&g, points, 0, &fault), STATUS_BAD_INPUT);
    grid_four_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bilinear_by_hand),
        cmocka_unit_test(repeats_are_averaged_and_holes_filled),
        cmocka_unit_test(one_axis_and_one_point),
        cmocka_unit_test(bilinear_functions_are_exact),
        cmocka_unit_test(four_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
