/* The tables of policies: every row has every cell, and the documents have them as they are. */
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "config/policies.h"

static const char *root; /* of the source tree */

static char *read_doc(const char *name)
{
    char path[1024];
    char *content;
    size_t n_bytes;
    struct fault fault;
    snprintf(path, sizeof path, "%s/docs/%s", root, name);
    assert_int_equal(file_read(path, 1 << 20, &content, &n_bytes, &fault), STATUS_OK);
    return content;
}

/* build/shoal config policies, table by table. */
static void config_policies_tables_in_docs_are_current(void **state)
{
    static const char *const docs[CONFIG_POLICIES_N] = {
        [CONFIG_POLICIES_PRESETS] = "POLICIES.md",
        [CONFIG_POLICIES_SCHEDULERS] = "POLICIES.md",
        [CONFIG_POLICIES_THRESHOLDS] = "POLICIES.md",
        [CONFIG_POLICIES_ROUTERS] = "POLICIES.md",
        [CONFIG_POLICIES_ROUTER_THRESHOLDS] = "POLICIES.md",
        [CONFIG_POLICIES_POOLS] = "POLICIES.md",
        [CONFIG_POLICIES_PLANNERS] = "PLACEMENT.md",
        [CONFIG_POLICIES_LAYERS] = "PLACEMENT.md",
    };
    (void)state;
    for (int i = 0; i < CONFIG_POLICIES_N; i++) {
        struct str table;
        if (docs[i] == NULL)
            continue;
        str_init(&table);
        config_policies_table((enum config_policies)i, &table);
        char *doc = read_doc(docs[i]);
        if (strstr(doc, table.at) == NULL)
            fail_msg("docs/%s lacks this table of `shoal config policies`:\n%s", docs[i], table.at);
        mem_give(doc);
        str_free(&table);
    }
}

/* As many cells in each row as in the first. */
static void config_policies_tables_are_whole(void **state)
{
    (void)state;
    for (int i = 0; i < CONFIG_POLICIES_N; i++) {
        struct str table;
        int n_lines = 0, n_cells = 0;
        str_init(&table);
        config_policies_table((enum config_policies)i, &table);
        for (const char *line = table.at; *line != '\0'; n_lines++) {
            int n = 0;
            for (; *line != '\n'; line++)
                n += *line == '|';
            line++;
            n_cells = n_lines == 0 ? n : n_cells;
            assert_int_equal(n, n_cells);
        }
        assert_true(n_lines > 4 && n_cells > 2);
        str_free(&table);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_policies_tables_in_docs_are_current),
        cmocka_unit_test(config_policies_tables_are_whole),
    };
    root = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
