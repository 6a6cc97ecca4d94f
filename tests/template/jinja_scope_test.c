/* Jinja: the names that a block sees; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{% set x = 1 %}{% for i in [1] %}{{ x }}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}", NULL,
      "121" },
    { "{% macro m() %}{{ x }}{% endmacro %}{% set x = 3 %}{{ m() }}", NULL, "3" },
    { "{% set x = 1 %}{% macro m() %}{{ x }}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}",
      NULL, "121" },
    { "{% with x = 1, y = x %}{{ x }}{{ y }}|{% endwith %}{{ x }}|", NULL, "1||" },
    { "{% if false %}{% set q = 1 %}{% endif %}{{ q }}|", NULL, "|" },
    { "{% for x in [1, 2] %}{% if loop.first %}{% set v = x %}{% endif %}{{ v }}{% endfor %}|{{ v "
      "}}|",
      NULL, "1||" },
    { "{% filter upper %}{% set z = 'a' %}{{ z }}{% endfilter %}{{ z }}|", NULL, "A|" },
    { "{% set b %}{% set z = 'a' %}{{ z }}{% endset %}{{ b }}{{ z }}|", NULL, "a|" },
    { "{% break %}", NULL, NULL },
    { "{% for x in a %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}", NULL, NULL },
    { "{% for x in a %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% else %}{% continue %}{% "
      "endfor %}",
      NULL, NULL },
    { "{{ loop is defined }}{% for x in [1] %}{{ loop is defined }}{% endfor %}", NULL,
      "FalseTrue" },
    { "{% for loop in [1] %}{{ loop }}{% endfor %}", NULL, NULL },
    { "{% for x in x %}{% endfor %}|", NULL, "|" },
    { "{% set a, b = b, a %}{{ a }}{{ b }}|", NULL, "[3, 1, 2]|" },
    { "{% for i in [1] %}{% macro k(x=i) %}{{ x }}{{ i }}{% endmacro %}{{ k() }}{% endfor %}", NULL,
      "11" },
    { "{% call(x) (a|first) %}{% endcall %}", NULL, NULL },
    { "{% macro w() %}<{{ caller() }}{{ caller() }}>{% endmacro %}{% set x = 1 %}{% call w() %}{% "
      "set x = x + 1 %}{{ x }}{% endcall %}{{ x }}",
      NULL, "<22>1" },
    { "{% set true = 1 %}", NULL, NULL },
    { "{% set d.x = 1 %}", NULL, NULL },
    { "{% set ns = namespace(a=1) %}{% set ns.a, ns.b = 2, 3 %}{{ ns.a }}{{ ns.b }}", NULL, "23" },
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
