/* Jinja: str, repr and JSON; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{{ [1, 2.0, 'a', \"it's\", 'q\"', none, true, {'k': (1,)}, [], ''] }}", kwargs,
      "[1, 2.0, 'a', \"it's\", 'q\"', None, True, {'k': (1,)}, [], '']" },
    { "{{ ['\\n\\t\\\\\\x00\\x7f\\u00e9\\u200b\\U0001F600\\u00a0'] }}", kwargs,
      "['\\n\\t\\\\\\x00\\x7f\303\251\\u200b\360\237\230\200\\xa0']" },
    { "{{ {'a': 'b', 1: [2]} }}", kwargs, "{'a': 'b', 1: [2]}" },
    { "{{ 0.1 }} {{ 1/3 }} {{ 1e100 }} {{ 1e-7 }} {{ 100000000000000000.0 }} {{ 12345.678 }"
      "} {{ 5.0 }}",
      kwargs, "0.1 0.3333333333333333 1e+100 1e-07 1e+17 12345.678 5.0" },
    { "{{ ['both \\' and \"'] }}", kwargs, "['both \\' and \"']" },
    { "{{ {'u': u}|tojson }}", kwargs, "{\"u\": \"h\303\251\303\237 \344\270\255\"}" },
    { "{{ '\\u2028\\x7f'|tojson }}", kwargs, "\"\342\200\250\177\"" },
    { "{{ [1.0, 1e20, 0.5]|tojson }}", kwargs, "[1.0, 1e+20, 0.5]" },
    { "{{ ['\\U0001F600\\u00e9']|tojson(ensure_ascii=true) }}", kwargs,
      "[\"\\ud83d\\ude00\\u00e9\"]" },
    { "{{ a|map('upper')|list }}", kwargs, "['3', '1', '2']" },
    { "{{ {'a': {'b': [1, {'c': []}]}}|tojson(indent=1) }}", kwargs,
      "{\n \"a\": {\n  \"b\": [\n   1,\n   {\n    \"c\": []\n   }\n  ]\n }\n}" },
    { "{{ s.upper|tojson }}", kwargs, NULL },
    { "{{ [zz] }}", kwargs, "[Undefined]" },
};

static void renders_as_jinja2_does(void **state)
{
    (void)state;
    render_expect(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(renders_as_jinja2_does) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
