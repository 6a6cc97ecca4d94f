/* The output of peers is read, their flags are theirs, and the faster one is P. */
#include "../test.h"
#include "roofline/roofline.h"

#include <string.h>

static const char bench[] =
    "[\n  {\n    \"build_commit\": \"0c1e57098\",\n    \"n_prompt\": 512,\n    \"n_gen\": 0,\n"
    "    \"n_depth\": 0,\n    \"avg_ts\": 78.5,\n    \"samples_ts\": [ 78, 79, 70 ]\n  },\n"
    "  {\n    \"build_commit\": \"0c1e57098\",\n    \"n_prompt\": 0,\n    \"n_gen\": 64,\n"
    "    \"n_depth\": 0,\n    \"avg_ts\": 14.5\n  },\n"
    "  {\n    \"n_prompt\": 0,\n    \"n_gen\": 64,\n    \"n_depth\": 2048,\n"
    "    \"samples_ts\": [ 9 ]\n  }\n]\n";

static void rates_are_read(void **state)
{
    (void)state;
    char commit[64] = "";
    assert_true(roofline_peer_rate(bench, 512, 0, 0, commit) == 78); /* the median */
    assert_string_equal(commit, "0c1e57098");
    assert_true(roofline_peer_rate(bench, 0, 64, 0, commit) == 14.5); /* no samples: the mean */
    assert_true(roofline_peer_rate(bench, 0, 64, 2048, commit) == 9);
    assert_true(roofline_peer_rate(bench, 0, 32, 0, commit) == 0);
    assert_true(roofline_peer_rate("", 512, 0, 0, commit) == 0);
    assert_true(roofline_peer_rate("warning: [x]\n[\n{", 512, 0, 0, commit) == 0);
}

static void noise_before_the_list_is_passed_over(void **state)
{
    (void)state;
    char commit[64] = "", text[2048];
    snprintf(text, sizeof(text), "load: [cpu] something\n%s", bench);
    assert_true(roofline_peer_rate(text, 512, 0, 0, commit) == 78);
}

static const char batched[] =
    "main: n_kv_max = 4096, n_batch = 2048\n\n"
    "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |  S "
    "t/s |\n|-------|--------|------|--------|----------|----------|----------|----------|---------"
    "-|----------|\n"
    "|    64 |     64 |    8 |   1024 |    6.000 |    85.33 |   10.000 |    46.60 |   16.000 |    "
    "64.00 |\n"
    "|    64 |     64 |   32 |   4096 |   24.000 |    85.33 |   40.000 |    54.30 |   64.000 |    "
    "64.00 |\n";

static void tables_are_read(void **state)
{
    (void)state;
    assert_true(roofline_peer_batched_rate(batched, 8) == 46.6);
    assert_true(roofline_peer_batched_rate(batched, 32) == 54.3);
    assert_true(roofline_peer_batched_rate(batched, 16) == 0);
    assert_true(roofline_peer_batched_rate("", 8) == 0);
    assert_true(roofline_peer_batched_rate("| 1 | 2 | 8 |", 8) == 0);
    assert_true(roofline_peer_batched_rate("|1|1|8|1|1|1|1|inf|1|1|", 8) == 0);
    assert_true(roofline_peer_batched_rate("|1|1|8|1|1|1|1|nan|1|1|", 8) == 0);
    assert_true(roofline_peer_batched_rate("|1|1|8.5|1|1|1|1|3|1|1|", 8) == 0);
    assert_true(roofline_peer_batched_rate("|1|1|1e99|1|1|1|1|3|1|1|", INT32_MAX) == 0);
}

static void check_flags(bool is_ik, int variant, bool is_batched, const char *want)
{
    struct roofline_peer peer = { .is_ik = is_ik };
    struct str flags;
    str_init(&flags);
    roofline_peer_flags(&peer, variant, is_batched, &flags);
    assert_string_equal(flags.at, want);
    str_free(&flags);
}

static void each_has_its_flags(void **state)
{
    (void)state;
    check_flags(false, 0, false, "-fa 0 --repack 0");
    check_flags(false, 3, false, "-fa 1 --repack 1");
    check_flags(false, 0, true, "-fa off --no-repack");
    check_flags(false, 3, true, "-fa on");
    check_flags(true, 1, false, "-fa 1 -rtr 0");
    check_flags(true, 2, true, "-no-fa -rtr");
    check_flags(true, 1, true, "-fa on");
}

static void the_faster_peer_is_compared_with(void **state)
{
    (void)state;
    struct roofline_row row = { .point = { ROOFLINE_DECODE, 8, 1, 96 },
                                .n_rounds = 3,
                                .ours = { 0.1, 0.2, 0.05 } }; /* 80, 40, 160 tokens/s */
    int variant = -1, peer = -1;
    double rate;
    assert_false(roofline_peer_best(&row, 0, &variant, &rate));
    assert_true(roofline_ratio(&row, 2, &peer) == 0);
    for (int round = 0; round < 3; round++) {
        row.peers[0][2][round] = 30;
        row.peers[1][1][round] = 20 + 20 * round; /* 20, 40, 60 */
    }
    row.peers[1][3][0] = 39; /* in one round only */
    assert_true(roofline_peer_best(&row, 1, &variant, &rate));
    assert_int_equal(variant, 1);
    assert_true(rate == 40);
    /* 80 / 20, 40 / 40, 160 / 60: the middle one of the pairs */
    double ratio = roofline_ratio(&row, 2, &peer);
    assert_int_equal(peer, 1);
    assert_true(ratio > 2.666 && ratio < 2.667);
}

static void a_peer_must_be_one(void **state)
{
    (void)state;
    struct roofline_peer peer;
    struct fault fault;
    assert_int_equal(roofline_peer_open(&peer, "/nowhere/llama-bench", &fault), STATUS_IO);
    assert_int_equal(roofline_peer_open(&peer, "/bin/echo", &fault), STATUS_BAD_INPUT);
    assert_true(strstr(fault.text, "not a llama-bench") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_read),
        cmocka_unit_test(noise_before_the_list_is_passed_over),
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(each_has_its_flags),
        cmocka_unit_test(the_faster_peer_is_compared_with),
        cmocka_unit_test(a_peer_must_be_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
