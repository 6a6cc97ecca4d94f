/* Best fit against the exact optimum of Aladdin's packing problem, which CBC (a program) computes.
 * The problem is min sum y over (a) each request on one worker, (b) the decode step, (c) the
 * prompts, (e) the memory at each end, (f) used workers only. The requests are fresh, so that (d)
 * protects none. */
#include "../test.h"
#include "base/rng.h"
#include "base/str.h"
#include "world.h"

enum { REQUESTS = 14, WORKERS = 6, ROUNDS = 24 };

/* In us: 10 ms, 1 ms a request, 1 us a token of context; prompts 5 ms and 100 us a token. */
static const struct perf model = { .c1_ps = 5000000000,
                                   .k1_ps = 100000000,
                                   .c3_ps = { 10000000000, 10000000000 },
                                   .c2_ps = { 1000000000, 1000000000 },
                                   .k2_ps = { 1000000, 1000000 },
                                   .b_switch = 1000,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };

static void write_row(struct str *lp, const char *name, int i, int k)
{
    str_printf(lp, " %s_%d_%d:", name, i, k);
}

/* Constraints (b), (c), (e) of worker i; y bounds them, so that an unused worker takes nothing. */
static void write_worker(struct str *lp, const struct world *w, int i)
{
    write_row(lp, "b", i, 0); /* theta l_d: T_dec 30 ms */
    for (int j = 0; j < REQUESTS; j++)
        str_printf(lp, " + %d x_%d_%d",
                   1000 + w->requests[j].n_prompt + w->requests[j].n_predicted / 2, i, j);
    str_printf(lp, " - 20000 y_%d <= 0\n", i);
    write_row(lp, "c", i, 0); /* 600 ms */
    for (int j = 0; j < REQUESTS; j++)
        str_printf(lp, " + %d x_%d_%d", w->requests[j].n_prompt, i, j);
    str_printf(lp, " - 5950 y_%d <= 0\n", i);
    for (int k = 0; k < REQUESTS; k++) { /* memory grows until a request ends */
        int32_t step = w->requests[k].n_predicted;
        write_row(lp, "e", i, k);
        for (int j = 0; j < REQUESTS; j++)
            if (step <= w->requests[j].n_predicted)
                str_printf(lp, " + %d x_%d_%d", w->requests[j].n_prompt + step, i, j);
        str_printf(lp, " - %lld y_%d <= 0\n", (long long)w->engines[0].kv_bytes, i);
    }
}

static void write_problem(struct str *lp, const struct world *w)
{
    str_add_text(lp, "Minimize\n obj:");
    for (int i = 0; i < WORKERS; i++)
        str_printf(lp, " + y_%d", i);
    str_add_text(lp, "\nSubject To\n");
    for (int j = 0; j < REQUESTS; j++) {
        write_row(lp, "a", 0, j);
        for (int i = 0; i < WORKERS; i++)
            str_printf(lp, " + x_%d_%d", i, j);
        str_add_text(lp, " = 1\n");
    }
    for (int i = 0; i < WORKERS; i++)
        write_worker(lp, w, i);
    for (int i = 1; i < WORKERS; i++) /* equal workers: the lower are used first */
        str_printf(lp, " order_%d: y_%d - y_%d >= 0\n", i, i - 1, i);
    str_add_text(lp, "Binary\n");
    for (int i = 0; i < WORKERS; i++) {
        str_printf(lp, " y_%d\n", i);
        for (int j = 0; j < REQUESTS; j++)
            str_printf(lp, " x_%d_%d\n", i, j);
    }
    str_add_text(lp, "End\n");
}

/* The optimum by CBC: 0 when it proves that the problem has none, -1 when it proved nothing in
 * time. */
static int solve(const char *folder, const struct str *lp)
{
    char path[300], command[900], line[200];
    int best = -1;
    snprintf(path, sizeof(path), "%s/packing.lp", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(lp->at, 1, lp->n, file), lp->n);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof(command),
             "cbc %s/packing.lp sec 20 solve solution %s/packing.sol >/dev/null 2>&1", folder,
             folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/packing.sol", folder);
    file = fopen(path, "r");
    assert_non_null(file);
    if (fgets(line, sizeof(line), file) != NULL) { /* "Optimal - objective value 3.00000000" */
        if (strncmp(line, "Optimal", 7) == 0)
            best = (int)(strtod(strstr(line, "value") + 6, NULL) + 0.5);
        else if (strncmp(line, "Infeasible", 10) == 0 || strncmp(line, "Integer inf", 11) == 0)
            best = 0;
    }
    fclose(file);
    return best;
}

/* The number of workers that best fit uses; 0 when it forces a request or has no place. */
static int fit(struct world *w)
{
    unsigned used = 0;
    world_plan(w);
    if (w->plan.n_choices != REQUESTS)
        return 0;
    for (int i = 0; i < REQUESTS; i++) {
        if (w->choices[i].is_forced)
            return 0;
        used |= 1U << w->choices[i].engine;
    }
    return __builtin_popcount(used);
}

static void test_against_cbc(void **state)
{
    (void)state;
    char folder[] = "/tmp/shoal-packing-XXXXXX", path[300];
    struct rng rng;
    struct str lp;
    int n_proved = 0, n_equal = 0, n_close = 0;
    if (system("command -v cbc >/dev/null 2>&1") != 0)
        TEST_SKIP("cbc (Debian: coinor-cbc) is not installed");
    assert_non_null(mkdtemp(folder));
    rng_init(&rng, test_seed(31), 0);
    str_init(&lp);
    for (int round = 0; round < ROUNDS; round++) {
        struct world *w = world_new(WORKERS, 1, 64);
        w->services[0].perf = model;
        w->services[0].kv_bytes_per_token = 1;
        w->config.block_tokens = 1;
        for (int e = 0; e < WORKERS; e++)
            w->engines[e].kv_bytes = 3000 + 500 * (round % 6);
        world_open(w, "best-fit");
        for (int i = 0; i < REQUESTS; i++)
            world_arrive(w, 0, 50 + (int32_t)rng_below(&rng, 1400),
                         2 * (1 + (int32_t)rng_below(&rng, 400)));
        str_clear(&lp);
        write_problem(&lp, w);
        int best = solve(folder, &lp), got = fit(w);
        if (best > 0) {
            n_proved++;
            assert_true(got == 0 || got >= best); /* nothing beats what CBC proves */
            n_equal += got == best;
            n_close += got == 0 ? best >= WORKERS - 1 : got <= best + 1;
        } else if (best == 0) {
            assert_int_equal(got, 0); /* what can't be placed is not placed */
        }
        world_close(w);
    }
    printf("of %d: %d as few workers as the optimum, %d at most one more\n", n_proved, n_equal,
           n_close);
    assert_true(n_proved >= ROUNDS * 3 / 4);
    assert_true(n_close * 100 >= n_proved * 95);
    assert_true(n_equal * 2 >= n_proved);
    str_free(&lp);
    snprintf(path, sizeof(path), "%s/packing.lp", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/packing.sol", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_cbc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
