/* Jinja: attributes by path, in sort, map, groupby and sum; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ [{'a': {'b': 2}}, {'a': {'b': 1}}]|sort(attribute='a.b')|map(attribute='a.b')|list }} {{ "
      "[[1, 'x'], [0, 'y']]|map(attribute='1')|list }} {{ [[1, 'x'], [0, "
      "'y']]|map(attribute=0)|list }}",
      NULL, "[1, 2] ['x', 'y'] [1, 0]" },
    { "{{ [{'r': 'B', 'n': 1}, {'r': 'a', 'n': 2}]|sort(attribute='r,n')|map(attribute='n')|list "
      "}}",
      NULL, "[2, 1]" },
    { "{{ [{'r': 'B'}, {'r': 'a'}]|sort(attribute='r', "
      "case_sensitive=true)|map(attribute='r')|list }}",
      NULL, "['B', 'a']" },
    { "{% for g in l|groupby('role') %}{{ g.grouper }}:{{ g.list|length }};{% endfor %}", NULL,
      "tool:1;user:2;" },
    { "{% for k, items in l|groupby('n', default=7) %}{{ k }}={{ items|length }};{% endfor %}",
      NULL, "1=1;2=1;7=1;" },
    { "{{ l|groupby('role')|list|length }} {{ (l|groupby('role'))[0].grouper }} {{ ['b', 'B', "
      "'a']|groupby('0')|map(attribute='0')|list }}",
      NULL, "2 tool ['a', 'b']" },
    { "{{ [{'k': 'B'}, {'k': 'b'}]|groupby('k', case_sensitive=true)|map('first')|list }}", NULL,
      "['B', 'b']" },
    { "{{ l|groupby('n') }}", NULL, NULL },
    { "{{ l|map(attribute='zz.y')|list }}", NULL, NULL },
    { "{{ l|sum(attribute='n') }}", NULL, NULL },
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
