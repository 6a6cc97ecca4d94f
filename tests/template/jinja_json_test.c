/* Jinja: tojson and from_json; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ {'b': 1, 'a': [true, none, 1.5, '\303\251<&>\\'\"\\n']}|tojson }} {{ "
      "'\303\251'|tojson(ensure_ascii=true) }} {{ '\360\237\230\200'|tojson(true) }}",
      NULL,
      "{\"b\": 1, \"a\": [true, null, 1.5, \"\303\251<&>'\\\"\\n\"]} \"\\u00e9\" "
      "\"\\ud83d\\ude00\"" },
    { "{{ {'b': [1, {}], 'a': []}|tojson(indent=2) }}", NULL,
      "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": []\n}" },
    { "{{ [1]|tojson(indent='--') }} {{ [1, [2]]|tojson(indent=0) }}", NULL,
      "[\n--1\n] [\n1,\n[\n2\n]\n]" },
    { "{{ {'a': 1, 'b': [2]}|tojson(separators=(',', ':')) }} {{ {'b': 1, 'a': "
      "2}|tojson(sort_keys=true) }}",
      NULL, "{\"a\":1,\"b\":[2]} {\"a\": 2, \"b\": 1}" },
    { "{{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }}", NULL,
      "{\"1\": 4, \"null\": 3, \"1.5\": 5}" },
    { "{{ {(1, 2): 3}|tojson }}", NULL, NULL },
    { "{{ range(3)|tojson }}", NULL, NULL },
    { "{{ zz|tojson }}", NULL, NULL },
    { "{{ d.keys()|tojson }}", NULL, NULL },
    { "{{ (1, 'a')|tojson }} {{ 1e16|tojson }} {{ -0.0|tojson }} {{ 0.1|tojson }}", NULL,
      "[1, \"a\"] 1e+16 -0.0 0.1" },
    { "{{ {1: 1, 'a': 2}|tojson(sort_keys=true) }}", NULL, NULL },
    { "{{ '{\"a\": [1, 2.0, null, true], \"b\": \"\\\\u00e9\"}'|from_json }} {{ ('[1, "
      "2]'|from_json)[1] + 1 }} {{ '1'|fromjson }}",
      NULL, "{'a': [1, 2.0, None, True], 'b': '\303\251'} 3 1" },
    { "{{ '{'|from_json }}", NULL, NULL,
      "from_json reads no JSON here: string or '}' expected near end of file" },
    { "{{ '[1] x'|from_json }}", NULL, NULL,
      "from_json reads no JSON here: end of file expected near 'x'" },
    { "{{ '{\"a\": 1, \"a\": 2}'|from_json }}", NULL, "{'a': 2}" },
    { "{{ ' [ 1 , -2e3 ] '|from_json }}", NULL, "[1, -2000.0]" },
    { "{{ 5|from_json }}", NULL, NULL },
    { "{{ '\\x7f\\x1f'|tojson }}", NULL, "\"\177\\u001f\"" },
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
