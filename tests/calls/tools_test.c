/* Types of parameters, as schemas give them. */
#include "calls/tools.h"
#include <jansson.h>
#include "test.h"

static void schemas_give_types(void **state)
{
    (void)state;
    static const struct {
        const char *schema;
        unsigned types;
    } rows[] = {
        { "{\"type\":\"string\"}", CALLS_TYPE_TEXT },
        { "{\"type\":[\"integer\",\"null\"]}", CALLS_TYPE_NUMBER | CALLS_TYPE_NULL },
        { "{\"enum\":[\"a\",1]}", CALLS_TYPE_TEXT | CALLS_TYPE_NUMBER },
        { "{\"const\":true}", CALLS_TYPE_BOOL },
        { "{\"anyOf\":[{\"type\":\"array\"},{\"type\":\"object\"}]}",
          CALLS_TYPE_ARRAY | CALLS_TYPE_OBJECT },
        { "{\"allOf\":[{\"type\":\"string\"}]}", CALLS_TYPE_TEXT },
        { "{\"$ref\":\"#/x\"}", CALLS_TYPE_ANY },
        { "{\"type\":\"strange\"}", CALLS_TYPE_ANY },
        { "true", CALLS_TYPE_ANY },
        { "{\"type\":\"string\",\"enum\":[1]}", CALLS_TYPE_ANY },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pile pile;
        struct calls_tool tool = { .name = view_text("f") };
        pile_init(&pile);
        json_t *schema = json_pack("{s:{s:o}}", "properties", "p",
                                   json_loads(rows[i].schema, JSON_DECODE_ANY, NULL));
        calls_tools_read(&tool, schema, &pile);
        json_decref(schema);
        assert_int_equal(calls_tools_types(&tool, view_text("p")), rows[i].types);
        assert_int_equal(calls_tools_types(&tool, view_text("q")), CALLS_TYPE_ANY);
        pile_free(&pile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_give_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
