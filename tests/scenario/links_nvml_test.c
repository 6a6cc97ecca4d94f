/* Links between GPUs by NVML, with fake_nvml.c as the library. */
#include "links_near.h"
#include <stdlib.h>
#include <string.h>

static char library[1024];

static void ask_nvml(const char *machine, int32_t n, struct links *links)
{
    struct fault fault;
    setenv("FAKE_NVML", machine, 1);
    assert_int_equal(links_nvml(library, links, &fault), STATUS_OK);
    assert_int_equal(links->n, n);
}

static void test_nvml_counts_nvlinks(void **state)
{
    struct links links;
    (void)state;
    ask_nvml("pairs", 4, &links);
    assert_link(&links, 0, 1, "NV4");
    assert_link(&links, 3, 2, "NV4");
    assert_link(&links, 0, 2, "PXB"); /* joined to others, but not to each other */
    assert_link(&links, 1, 3, "SYS");
    links_free(&links);
    ask_nvml("switch", 3, &links);
    assert_link(&links, 0, 2, "NV18");
    assert_link(&links, 2, 1, "NV18");
    links_free(&links);
}

static void test_nvml_says_how_near_they_are(void **state)
{
    struct links links;
    (void)state;
    ask_nvml("bare", 4, &links);
    assert_link(&links, 1, 0, "PIX");
    assert_link(&links, 2, 0, "PXB");
    assert_link(&links, 0, 3, "SYS");
    assert_int_equal(links.at[0].latency_ns, 0);
    links_free(&links);
}

static void test_no_library_and_no_driver(void **state)
{
    struct links links;
    struct fault fault;
    (void)state;
    assert_int_equal(links_nvml("libof-nobody.so", &links, &fault), STATUS_NOT_FOUND);
    assert_true(strstr(fault.text, "libof-nobody.so") != NULL);
    setenv("FAKE_NVML", "none", 1);
    assert_int_equal(links_nvml(library, &links, &fault), STATUS_NOT_FOUND);
    assert_null(links.at);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvml_counts_nvlinks),
        cmocka_unit_test(test_nvml_says_how_near_they_are),
        cmocka_unit_test(test_no_library_and_no_driver),
    };
    assert_true(argc == 2);
    snprintf(library, sizeof(library), "%s", argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
