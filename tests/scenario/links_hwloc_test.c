/* Links between GPUs by hwloc, on the machine of two_sockets.xml.
 *
 * Its socket 0 has a switch with GPUs 0 and 1, GPU 2 beside it below the same host bridge, and GPU
 * 3 and two NVSwitches on another. Its socket 1 has GPU 4 and a card that is not NVIDIA's. The file
 * is laid out as lstopo writes it, without comments, because hwloc's own reader accepts nothing
 * else when its plugin for libxml2 is not installed. */
#include "base/file.h"
#include "base/mem.h"
#include "links_near.h"
#include <stdio.h>
#include <string.h>

static char topology[1024];

/* Finds the links of two_sockets.xml with these tables at its end. */
static void ask_hwloc(const char *tables, struct links *links)
{
    static const char end[] = "</topology>\n";
    struct fault fault;
    char *file, xml[16384];
    size_t n_file;
    assert_int_equal(file_read(topology, sizeof(xml), &file, &n_file, &fault), STATUS_OK);
    int n = snprintf(xml, sizeof(xml), "%.*s%s%s", (int)(n_file - strlen(end)), file, tables, end);
    mem_give(file);
    assert_true(n > 0 && n < (int)sizeof(xml));
    if (links_hwloc(xml, (size_t)n, links, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(links->n, 5);
}

static void test_hwloc_says_how_near_they_are(void **state)
{
    struct links links;
    (void)state;
    ask_hwloc("", &links);
    assert_link(&links, 0, 1, "PIX");
    assert_link(&links, 1, 0, "PIX");
    assert_link(&links, 0, 2, "PHB");
    assert_link(&links, 2, 3, "NODE");
    assert_link(&links, 0, 4, "SYS");
    links_free(&links);
}

static void test_hwloc_knows_nvlinks(void **state)
{
    struct links links;
    (void)state;
    ask_hwloc("<distances2hetero nbobjs=\"2\" kind=\"37\" name=\"NVLinkBandwidth\">"
              "<indexes length=\"17\">OSDev:80 OSDev:84</indexes>"
              "<u64values length=\"29\">1000000 100000 100000 1000000</u64values>"
              "</distances2hetero>",
              &links);
    assert_true(links.at[0 * 5 + 4].bytes_per_s == 100e9);
    assert_true(links.at[4 * 5 + 0].bytes_per_s == 100e9);
    assert_int_equal(links.at[4].latency_ns, 5000);
    assert_link(&links, 0, 1, "PIX");
    links_free(&links);
}

/* GPUs 0 and 1 reach two ports of a switch by 100 GB/s each, GPU 4 one port. */
static void test_hwloc_knows_switches(void **state)
{
    struct links links;
    (void)state;
    ask_hwloc("<distances2hetero nbobjs=\"5\" kind=\"37\" name=\"NVLinkBandwidth\">"
              "<indexes length=\"46\">OSDev:80 OSDev:81 OSDev:84 PCIDev:90 PCIDev:91</indexes>"
              "<u64values length=\"80\">0 0 0 100000 100000 0 0 0 100000 100000 "
              "0 0 0 100000 0 100000 100000 100000 0 0 </u64values>"
              "<u64values length=\"20\">100000 100000 0 0 0 </u64values>"
              "</distances2hetero>",
              &links);
    assert_true(links.at[0 * 5 + 1].bytes_per_s == 200e9);
    assert_true(links.at[1 * 5 + 4].bytes_per_s == 100e9);
    assert_true(links.at[4 * 5 + 0].bytes_per_s == 100e9);
    assert_link(&links, 0, 2, "PHB");
    links_free(&links);
}

static void test_hwloc_refuses(void **state)
{
    static const char bare[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"2.0\">"
        "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
        "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"1\">"
        "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
        "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"2\" local_memory=\"1000000\"/>"
        "<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
        "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"3\"/></object></topology>";
    struct links links;
    struct fault fault;
    (void)state;
    assert_int_equal(links_hwloc("<html></html>", 13, &links, &fault), STATUS_BAD_INPUT);
    assert_true(strstr(fault.text, "lstopo") != NULL);
    assert_int_equal(links_hwloc(bare, strlen(bare), &links, &fault), STATUS_NOT_FOUND);
    assert_null(links.at);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hwloc_says_how_near_they_are),
        cmocka_unit_test(test_hwloc_knows_nvlinks),
        cmocka_unit_test(test_hwloc_knows_switches),
        cmocka_unit_test(test_hwloc_refuses),
    };
    assert_true(argc == 2);
    snprintf(topology, sizeof(topology), "%s/tests/scenario/two_sockets.xml", argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
