/* Jinja: iteration over each type; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{% for x in 'h\303\251' %}{{ x }};{% endfor %}{% for x in d %}{{ x }}{% endfor %}{% for x "
      "in range(2) %}{{ x }}{% endfor %}{% for x in (1, 2) %}{{ x }}{% endfor %}",
      NULL, "h;\303\251;bAc0112" },
    { "{% for x in zz %}{% else %}none{% endfor %}", NULL, "none" },
    { "{% for x in 5 %}{% endfor %}", NULL, NULL },
    { "{% for x in none %}{% endfor %}", NULL, NULL },
    { "{% for x in zz.y %}{% endfor %}", NULL, NULL },
    { "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", NULL, "123" },
    { "{% for a, b in ['xy', [1, 2]] %}{{ b }}{{ a }}{% endfor %}", NULL, "yx21" },
    { "{% for a, b in [(1, 2, 3)] %}{% endfor %}", NULL, NULL },
    { "{% for a, b in [(1,)] %}{% endfor %}", NULL, NULL },
    { "{% for a, b in [5] %}{% endfor %}", NULL, NULL },
    { "{{ 'ab'|list }} {{ d|list }} {{ d.values()|list }} {{ {'a': 1}.items()|list }} {{ "
      "range(3)|list }} {{ zz|list }}",
      NULL, "['a', 'b'] ['b', 'A', 'c'] [2, 1, [1, {'x': None}]] [('a', 1)] [0, 1, 2] []" },
    { "{{ 5|list }}", NULL, NULL },
    { "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}", NULL,
      "A=1;b=2;c=[1, {'x': None}];" },
    { "{{ [1, 2]|first }}{{ []|first is defined }}{{ [1, 2]|last }}{{ 'ab'|last }}{{ 'ab'|first "
      "}}{{ [1, 2]|length }}",
      NULL, "1False2ba2" },
    { "{% for x in 'a b'.split() %}{{ loop.previtem }}{{ x }}{{ loop.nextitem }}{{ loop.revindex "
      "}}{% endfor %}",
      NULL, "ab2ab1" },
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
