/* Links from nvidia-smi's matrix and from CSV, with hostile ones. */
#include "test.h"

#include "place/links.h"

/* UELLM's Table 2, as the tool prints it. */
static const char matrix[] = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"
                             "GPU0\t X \tPIX\tNODE\tNODE\t0-23\t0\n"
                             "GPU1\tPIX\t X \tNODE\tNODE\t0-23\t0\n"
                             "GPU2\tNODE\tNODE\t X \tPIX\t0-23\t0\n"
                             "GPU3\tNODE\tNODE\tPIX\t X \t0-23\t0\n"
                             "\nLegend:\n\n  X    = Self\n";

static void test_nvidia_smi(void **state)
{
    (void)state;
    struct links links = { 0 };
    struct fault fault;
    int64_t ps[16];
    assert_int_equal(links_read(&links, matrix, &fault), STATUS_OK);
    assert_int_equal(links.n, 4);
    links_times(&links, 8192, ps);
    assert_int_equal(ps[0], 0);
    assert_int_equal(ps[1], 10000000 + 341333); /* 10 us and 8,192 bytes at 24 GB/s */
    assert_int_equal(ps[2], 20000000 + 512000);
    assert_int_equal(ps[14], ps[1]);
    links_free(&links);
}

static void test_csv(void **state)
{
    (void)state;
    static const char text[] = "from,to,us,gbytes_per_s\n0,1,10,0\n0,2,20,16\n2,0,5,16\n1,2,7,1\n";
    struct links links = { 0 };
    struct fault fault;
    int64_t ps[9];
    assert_int_equal(links_read(&links, text, &fault), STATUS_OK);
    assert_int_equal(links.n, 3);
    links_times(&links, 16000, ps);
    assert_int_equal(ps[1], 10000000);
    assert_int_equal(ps[3], 10000000); /* the other direction */
    assert_int_equal(ps[2], 21000000);
    assert_int_equal(ps[6], 6000000); /* named itself */
    assert_int_equal(ps[5], 7000000 + 16000000);
    links_free(&links);
}

static void test_nvlink(void **state)
{
    (void)state;
    struct links_link link;
    assert_true(links_word("NV12", &link));
    assert_true(link.bytes_per_s == 300e9);
    assert_true(links_word("SYS", &link));
    assert_false(links_word("NV", &link));
    assert_false(links_word("NV0", &link));
    assert_false(links_word("NV4x", &link));
    assert_false(links_word("", &link));
}

static void test_bad_ones_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "GPU0 GPU1\nGPU0 X PIX\n",             /* a row is missing */
        "GPU0 GPU1\nGPU0 X\nGPU1 PIX X\n",     /* a missing word */
        "GPU0 GPU1\nGPU0 X FOO\nGPU1 PIX X\n", /* no link */
        "GPU0 GPU1\nGPU0 X X\nGPU1 PIX X\n",   /* itself, elsewhere */
        "GPU0 GPU1\nGPU0 PIX PIX\nGPU1 PIX X\n",
        "GPU0 GPU1\nGPU1 X PIX\nGPU0 PIX X\n", /* another order */
        "from,to,us\n0,1,1\n",
        "from,to,us,gbytes_per_s\n",
        "from,to,us,gbytes_per_s\n0,0,1,1\n",
        "from,to,us,gbytes_per_s\n0,256,1,1\n",
        "from,to,us,gbytes_per_s\n0,0.5,1,1\n",
        "from,to,us,gbytes_per_s\n0,1,-1,1\n",
        "from,to,us,gbytes_per_s\n0,1,nan,1\n",
        "from,to,us,gbytes_per_s\n0,1,1,1e-300\n",
        "from,to,us,gbytes_per_s\n0,1,fast,1\n",
        "from,to,us,gbytes_per_s\n0,1\n",
        "from,to,us,gbytes_per_s\n0,2,1,1\n", /* nothing of 1 */
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct links links = { 0 };
        struct fault fault = { "" };
        assert_int_equal(links_read(&links, bad[i], &fault), STATUS_BAD_INPUT);
        assert_true(strlen(fault.text) > 0);
        links_free(&links);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvidia_smi),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_nvlink),
        cmocka_unit_test(test_bad_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
