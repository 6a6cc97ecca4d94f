/* Profiles: a written one is read back, faults are reported, and groups are found by cores. */
#include "test.h"
#include "base/mem.h"
#include "predict/profile.h"

static struct predict_profile sample_profile(void)
{
    struct predict_profile p = { .model = "tale \"x\"",
                                 .arithmetic = "cpu-avx2",
                                 .weights_hash = 0xfedcba9876543210,
                                 .weights_bytes = 1000,
                                 .activation_bytes = 200,
                                 .kv_bytes_per_token = 64,
                                 .peak_bytes = 5000,
                                 .n_batch_max = 32,
                                 .n_prompt_max = 512,
                                 .beside = { 7, { { 1, 1.25 }, { 1.5, 2 } } },
                                 .group = { 6,
                                            288,
                                            2,
                                            { { 2, 2, { 64, 4096 }, { 500, 9000 } },
                                              { 4, 3, { 64, 256, 1024 }, { 700, 900, 2000 } } } },
                                 .n_groups = 2 };
    p.groups = mem_take(2 * sizeof(*p.groups));
    for (int i = 0; i < 2; i++) {
        struct predict_profile_group *g = &p.groups[i];
        snprintf(g->device, sizeof(g->device), "cpu:0-%d", 2 * i + 1);
        g->n_cores = 2 + 2 * i;
        g->share = 0.5 + 0.5 * i;
        g->perf = (struct perf){ 5,          6,          700 * (2 - i), 8, { 90 * (2 - i), 10 },
                                 { 11, 12 }, { 13, 14 }, INT32_MAX,     1, 1 };
        g->prefill = (struct perf_errors){ 7, 1.5, 0.25, -0.125, 0.9, 1.1, 0.5, 0.75 };
        g->decode_held = (struct perf_errors){ 3, 2.5, 0.75, 0.5, 0.8, 1.2, 0.9 };
        g->n_samples = 2;
        g->n_held = 1;
        g->samples[0] = (struct perf_sample){ { 4, 400, 0, 0, 0 }, 12345 };
        g->samples[1] = (struct perf_sample){ { 0, 0, 16, 256, 128 }, 6789 };
    }
    return p;
}

static void is_read_as_written(void **state)
{
    (void)state;
    struct predict_profile p = sample_profile(), back;
    struct str text, again;
    struct fault fault;
    str_init(&text);
    str_init(&again);
    predict_profile_write(&p, &text);
    assert_int_equal(predict_profile_parse(&back, "p", text.at, &fault), STATUS_OK);
    predict_profile_write(&back, &again);
    assert_string_equal(text.at, again.at);
    assert_true(predict_profile_hash(&p) == predict_profile_hash(&back));
    assert_true(back.weights_hash == p.weights_hash && back.n_groups == 2);
    assert_memory_equal(&back.groups[1].perf, &p.groups[1].perf, sizeof(struct perf));
    assert_memory_equal(back.groups[0].samples, p.groups[0].samples,
                        2 * sizeof(struct perf_sample));
    assert_true(back.beside.n_rounds == 7 && back.beside.factors[0][1] == 1.25 &&
                back.beside.factors[1][0] == 1.5 && back.groups[0].prefill.within == 0.75);
    assert_true(back.groups[0].prefill.bias == -0.125 && back.groups[0].n_held == 1);
    assert_memory_equal(&back.group, &p.group, sizeof(p.group));
    back.groups[0].perf.k1_ps++;
    assert_true(predict_profile_hash(&p) != predict_profile_hash(&back));
    predict_profile_free(&back);
    predict_profile_free(&p);
    str_free(&text);
    str_free(&again);
}

/* A cut or a change of the text anywhere never gives an impossible profile. */
static void what_is_wrong_is_told(void **state)
{
    (void)state;
    struct predict_profile p = sample_profile(), back;
    struct str text;
    struct fault fault;
    str_init(&text);
    predict_profile_write(&p, &text);
    for (size_t n = 0; n + 2 < text.n; n += 7) {
        char *cut = mem_copy_text(text.at);
        cut[n] = '\0';
        assert_int_equal(predict_profile_parse(&back, "p", cut, &fault), STATUS_BAD_INPUT);
        mem_give(cut);
    }
    static const char *const changes[][2] = {
        { "\"k1\":", "\"kk\":" },           { "\"shoal_profile\":1", "\"shoal_profile\":2" },
        { "[90,10]", "[90]   " },           { "\"cores\":2", "\"cores\":0" },
        { "[4,400,", "[4,-40," },           { "[1,1.25]", "[0,1.25]" },
        { "\"layers\":6", "\"layers\":0" }, { "[4096,9000]", "[  64,9000]" },
        { "[64,500]", "[64,-50]" },         { "\"ranks\":2", "\"ranks\":1" }
    };
    static const char *const wrong[] = { "k1",     "shoal_profile", "c3",     "cores",  "samples",
                                         "beside", "layers",        "points", "points", "ranks" };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        char *changed = mem_copy_text(text.at), expected[200];
        char *at = strstr(changed, changes[i][0]);
        assert_non_null(at);
        memcpy(at, changes[i][1], strlen(changes[i][1]));
        snprintf(expected, sizeof(expected),
                 "p is not a profile that this version reads: \"%s\" is missing or wrong",
                 wrong[i]);
        assert_int_equal(predict_profile_parse(&back, "p", changed, &fault), STATUS_BAD_INPUT);
        assert_string_equal(fault.text, expected);
        mem_give(changed);
    }
    assert_int_equal(predict_profile_parse(&back, "p", "[]", &fault), STATUS_BAD_INPUT);
    assert_int_equal(predict_profile_read(&back, "/nowhere/at/all", &fault), STATUS_NOT_FOUND);
    predict_profile_free(&p);
    str_free(&text);
}

/* The fit has not seen the held-out points, and reports how many of them are in its interval. */
static void a_fit_says_how_far_it_is_from_what_it_has_not_seen(void **state)
{
    (void)state;
    struct predict_profile_group *g = mem_take(sizeof *g);
    struct fault fault;
    for (int i = 0; i < 40; i++) { /* prompts at 10 a token, decodes at 100 + b: exact */
        int b = 1 + i / 2;
        g->samples[i] = i % 2 == 0 ? (struct perf_sample){ { .n_new = 16 * b }, 160 * b }
                                   : (struct perf_sample){ { .n_decodes = b }, 100 + b };
    }
    g->n_samples = 44;
    g->n_held = 4;
    g->samples[40] = (struct perf_sample){ { .n_new = 400 }, 4000 };
    g->samples[41] = (struct perf_sample){ { .n_new = 400 }, 5000 };
    g->samples[42] = (struct perf_sample){ { .n_decodes = 7 }, 107 };
    g->samples[43] = (struct perf_sample){ { .n_decodes = 8 }, 216 };
    assert_int_equal(predict_profile_fit(g, &fault), STATUS_OK);
    assert_true(g->perf.k1_ps == 10 && g->perf.c3_ps[0] == 100 && g->perf.c2_ps[0] == 1);
    assert_true(g->prefill.n == 20 && g->decode.n == 20 && g->prefill.mean_abs < 1e-9);
    assert_true(g->prefill.low > 0.99 && g->prefill.high < 1.01 && g->prefill.within == 1);
    assert_true(g->prefill_held.n == 2 && g->prefill_held.within == 0.5);
    assert_true(g->decode_held.worst == 0.5 && g->decode_held.within == 0.5);
    g->n_held = 44;
    assert_int_equal(predict_profile_fit(g, &fault), STATUS_BAD_INPUT);
    mem_give(g);
}

/* Numbers that are too large to compute with: sums of them would overflow. */
static void what_is_too_large_is_told(void **state)
{
    (void)state;
    static const char *const wrong[] = { "c1", "k2", "perf_ps", "samples", "weights_bytes" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct predict_profile p = sample_profile(), back;
        struct str text;
        struct fault fault;
        char expected[200];
        int64_t *const fields[] = { &p.groups[0].perf.c1_ps, &p.groups[0].perf.k2_ps[1],
                                    &p.groups[0].perf.k2_ps[1], &p.groups[0].samples[0].ps,
                                    &p.weights_bytes };
        /* 2^40 ps, a second for a token of context, is a number, but no machine has it. */
        *fields[i] = strcmp(wrong[i], "perf_ps") == 0 ? INT64_C(1) << 40 : INT64_MAX;
        str_init(&text);
        predict_profile_write(&p, &text);
        snprintf(expected, sizeof(expected),
                 "p is not a profile that this version reads: \"%s\" is missing or wrong",
                 wrong[i]);
        assert_int_equal(predict_profile_parse(&back, "p", text.at, &fault), STATUS_BAD_INPUT);
        assert_string_equal(fault.text, expected);
        predict_profile_free(&p);
        str_free(&text);
    }
}

static void groups_are_found_by_cores(void **state)
{
    (void)state;
    struct predict_profile p = sample_profile();
    assert_int_equal(predict_profile_perf(&p, 2).k1_ps, 1400);
    assert_int_equal(predict_profile_perf(&p, 4).k1_ps, 700);
    assert_int_equal(predict_profile_perf(&p, 8).k1_ps, 700); /* the largest group */
    assert_int_equal(predict_profile_perf(&p, 1).k1_ps, 2800);
    assert_in_range(predict_profile_perf(&p, 3).k1_ps, 910, 940); /* of four: 0.75 of them */
    predict_profile_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read_as_written),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(what_is_too_large_is_told),
        cmocka_unit_test(a_fit_says_how_far_it_is_from_what_it_has_not_seen),
        cmocka_unit_test(groups_are_found_by_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
