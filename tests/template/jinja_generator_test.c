/* Jinja: lazy results of filters; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ a|map('string')|join(',') }} {{ a|select('odd')|list }} {{ a|reject('odd')|list }} {{ "
      "a|select|list }} {{ [0, 1, '']|reject|list }}",
      NULL, "3,1,2 [3, 1] [2] [3, 1, 2] [0, '']" },
    { "{{ l|selectattr('n')|map(attribute='n')|list }} {{ l|rejectattr('n')|list|length }} {{ "
      "l|selectattr('role', 'eq', 'tool')|list }}",
      NULL, "[1, 2] 1 [{'role': 'tool', 'n': 2}]" },
    { "{{ l|map(attribute='n', default=0)|list }} {{ ['a', 'b']|map('replace', 'a', 'x')|list }} "
      "{{ [[1, 2], [3]]|map('sum')|list }} {{ [' a ']|map('trim')|first }}",
      NULL, "[1, 2, 0] ['x', 'b'] [3, 3] a" },
    { "{{ n|map('upper')|list }}", NULL, "[]" },
    { "{{ zz|map('upper')|list }}|{{ zz|selectattr('x')|list }}|{{ zz|select('odd')|join }}", NULL,
      "[]|[]|" },
    { "{{ zz|rejectattr('x')|first is defined }}", NULL, "False" },
    { "{{ a|batch(2)|list }} {{ a|batch(2, 'x')|list }} {{ range(7)|slice(3)|list }} {{ "
      "range(7)|slice(3, 0)|list }} {{ a|batch(0)|list }}",
      NULL,
      "[[3, 1], [2]] [[3, 1], [2, 'x']] [[0, 1, 2], [3, 4], [5, 6]] [[0, 1, 2], [3, 4, 0], [5, 6, "
      "0]] [[], [3, 1, 2]]" },
    { "{{ a|slice(0)|list }}", NULL, NULL },
    { "{{ 'abc'|batch(2)|map('join')|list }}", NULL, "['ab', 'c']" },
    { "{{ [1, 1, 2, 'A', 'a']|unique|list }} {{ ['A', 'a']|unique(true)|list }} {{ "
      "l|unique(attribute='role')|list|length }}",
      NULL, "[1, 2, 'A'] ['A', 'a'] 2" },
    { "{% set g = a|map('string') %}{{ g|list }}{{ g|list }}", NULL, "['3', '1', '2'][]" },
    { "{{ a|map('nope')|list }}", NULL, NULL },
    { "{{ a|map }}", NULL, NULL, "a generator is printed" },
    { "{{ [1]|map('upper', 'x')|list }}", NULL, NULL },
    { "{% for x in a|select('gt', 1) %}{{ x }}{{ loop.last }}{% endfor %}", NULL, "3False2True" },
    { "{{ a|reverse|list }} {{ 'abc'|reverse }} {{ a|select('in', [1, 2])|list }}", NULL,
      "[2, 1, 3] cba [1, 2]" },
    { "{{ {'b': 1}|items|list }} {{ zz|items|list }}", NULL, "[('b', 1)] []" },
    { "{{ 5|items|list }}", NULL, NULL },
    { "{{ l|map(attribute='role')|map('upper')|unique|join('-') }}", NULL, "USER-TOOL" },
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
