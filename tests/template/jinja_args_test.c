/* Jinja: binding of arguments to names; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ 'a,b'|replace(new='-', old=',') }} {{ 'aaa'|replace('a', 'b', count=2) }} {{ [1, "
      "2]|join(d='/') }}",
      NULL, "a-b bba 1/2" },
    { "{{ 'x'.center(width=5) }}", NULL, NULL },
    { "{{ 'abc'|replace('a') }}", NULL, NULL },
    { "{{ 'abc'|replace('a', 'b', 1, 2) }}", NULL, NULL },
    { "{{ 'abc'|replace('a', old='b') }}", NULL, NULL },
    { "{{ 'abc'|upper(1) }}", NULL, NULL },
    { "{{ 'a b'.split(sep=' ', maxsplit=1) }} {{ 'a\\nb'.splitlines(keepends=true) }}", NULL,
      "['a', 'b'] ['a\\n', 'b']" },
    { "{{ 'a'.split(nope=1) }}", NULL, NULL },
    { "{{ 'abc'.replace('a', 'b', count=1) }}", NULL, NULL },
    { "{{ [3, 1]|sort(true) }} {{ [3, 1]|sort(reverse=true) }}", NULL, "[3, 1] [3, 1]" },
    { "{{ 'a'|indent(width='--', first=true) }}", NULL, "--a" },
    { "{{ 'abcdef'|truncate(length='x') }}", NULL, NULL, "a length that is a str" },
    { "{{ 'a'|join(*['-'], **{'attribute': none}) }}", NULL, "a" },
    { "{{ dict(*[[['a', 1]]], **{'b': 2}) }}", NULL, "{'a': 1, 'b': 2}" },
    { "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(*[1, 3, 5], "
      "**{'z': 0}) }}{{ m(b=1, a=0) }}",
      NULL, "13(5,){'z': 0}01(){}" },
    { "{{ range(stop=3) }}", NULL, NULL },
    { "{{ namespace({'a': 1}, b=2).a }}{{ namespace([['c', 3]]).c }}", NULL, "13" },
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
