/* Jinja: statements: blocks and their ends; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{% if a %}1{% elif t %}2{% else %}3{% endif %}", kwargs, "1" },
    { "{% if e %}1{% elif n %}2{% elif t %}3{% else %}4{% endif %}", kwargs, "3" },
    { "{% for x in e %}x{% else %}none{% endfor %}", kwargs, "none" },
    { "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", kwargs,
      "b=2;A=1;c=[1, {'x': None}];" },
    { "{% for x in a if x > 1 %}{{ loop.index }}{{ x }}{% else %}no{% endfor %}", kwargs, "1322" },
    { "{% for x in a if x > 9 %}{{ x }}{% else %}no{% endfor %}", kwargs, "no" },
    { "{% set x, y = 1, 2 %}{{ x }}{{ y }}", kwargs, "12" },
    { "{% set x %}in {{ s }}{% endset %}{{ x|upper }}", kwargs, "IN HELLO, WORLD" },
    { "{% set x | upper %}abc{% endset %}{{ x }}", kwargs, "ABC" },
    { "{% filter upper %}abc{{ s }}{% endfilter %}", kwargs, "ABCHELLO, WORLD" },
    { "{% filter trim | upper %}  abc {% endfilter %}", kwargs, "ABC" },
    { "{% with x = 1, y = 2 %}{{ x + y }}{% endwith %}{{ x }}", kwargs, "3" },
    { "{% macro m(a, b='z') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(b=3"
      ", a=4) }}{{ m() }}",
      kwargs, "[1z][12][43][z]" },
    { "{% macro m(a) %}{{ a }}{% endmacro m %}{{ m(1) }}", kwargs, NULL },
    { "{% for x in a %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", kwargs, "32" },
    { "{% for x in a %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}", kwargs, "3" },
    { "{% if t %}", kwargs, NULL },
    { "{% for x in a %}{% endif %}", kwargs, NULL },
    { "{% endfor %}", kwargs, NULL },
    { "{% set %}", kwargs, NULL },
    { "{% for %}{% endfor %}", kwargs, NULL },
    { "{% block x %}{% endblock", kwargs, NULL, "the tag 'block'" },
    { "{% macro m(a %}{% endmacro %}", kwargs, NULL },
    { "{{ }}", kwargs, NULL },
    { "{% if %}{% endif %}", kwargs, NULL },
    { "{% for (x, y) in [(1,2),(3,4)] %}{{ x }}-{{ y }} {% endfor %}", kwargs, "1-2 3-4 " },
    { "{% set ns = namespace(x=1) %}{% set ns.x = ns.x + 1 %}{{ ns.x }}", kwargs, "2" },
    { "{% set true = 1 %}", kwargs, NULL },
    { "{% for x in a, %}{{ x }}{% endfor %}", kwargs, "[3, 1, 2]" },
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
