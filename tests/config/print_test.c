/* The schema and the table of keys: complete, and the same as in docs/. */
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "config/print.h"
#include "config/table.h"
#include <jansson.h>

static const char *root; /* of the source tree */

static char *read_doc(const char *name)
{
    char path[1024];
    char *content;
    size_t n_bytes;
    struct fault fault;
    snprintf(path, sizeof path, "%s/docs/%s", root, name);
    enum status status = file_read(path, 1 << 20, &content, &n_bytes, &fault);
    if (status != STATUS_OK)
        print_message("%s\n", fault.text);
    assert_int_equal(status, STATUS_OK);
    return content;
}

static const json_t *property(const json_t *object, const char *name)
{
    const json_t *found = json_object_get(json_object_get(object, "properties"), name);
    assert_non_null(found);
    assert_true(json_is_object(found));
    return found;
}

static void check_keys(const json_t *object, const struct config_key *keys, int n)
{
    for (int i = 0; i < n; i++) {
        char group[32];
        const char *dot = strchr(keys[i].name, '.');
        snprintf(group, sizeof group, "%.*s", (int)strcspn(keys[i].name, "."), keys[i].name);
        const json_t *key = property(object, group);
        if (dot)
            key = property(key, dot + 1);
        assert_string_equal(json_string_value(json_object_get(key, "description")), keys[i].help);
        assert_non_null(json_object_get(key, "type"));
    }
}

static void config_print_schema_has_every_key(void **state)
{
    struct str out;
    int n;
    (void)state;
    str_init(&out);
    config_print_schema(&out);
    json_t *schema = json_loads(out.at, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(schema);
    const struct config_key *keys = config_table_globals(&n);
    check_keys(schema, keys, n);
    const json_t *model = json_object_get(property(schema, "models"), "additionalProperties");
    keys = config_table_models(&n);
    check_keys(model, keys, n);
    assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
    assert_true(json_is_false(json_object_get(model, "additionalProperties")));
    json_decref(schema);
    str_free(&out);
}

/* build/shoal config schema > docs/config.schema.json */
static void config_print_schema_in_docs_is_current(void **state)
{
    struct str out;
    (void)state;
    str_init(&out);
    config_print_schema(&out);
    str_add_char(&out, '\n');
    char *doc = read_doc("config.schema.json");
    assert_string_equal(doc, out.at);
    mem_give(doc);
    str_free(&out);
}

/* build/shoal config keys, between the two marks of docs/CONFIG.md */
static void config_print_keys_in_docs_are_current(void **state)
{
    struct str out;
    (void)state;
    str_init(&out);
    config_print_keys(&out);
    char *doc = read_doc("CONFIG.md");
    assert_non_null(strstr(doc, out.at));
    mem_give(doc);
    str_free(&out);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_print_schema_has_every_key),
        cmocka_unit_test(config_print_schema_in_docs_is_current),
        cmocka_unit_test(config_print_keys_in_docs_are_current),
    };
    root = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
