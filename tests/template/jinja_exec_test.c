/* Jinja: scopes, loops, captures and macros; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{% set x = 1 %}{% if t %}{% set x = 2 %}{% endif %}{{ x }}", kwargs, "2" },
    { "{% for i in a %}{% set y = i %}{% endfor %}{{ y }}|", kwargs, "|" },
    { "{% for i in a %}{% if loop.first %}{% set z = 1 %}{% endif %}{{ z }}{% endfor %}", kwargs,
      "1" },
    { "{% macro m() %}{% set q = 1 %}{{ q }}{% endmacro %}{{ m() }}{{ q }}|", kwargs, "1|" },
    { "{% for i in a %}{% macro k() %}k{% endmacro %}{{ k() }}{% endfor %}", kwargs, "kkk" },
    { "{% set o %}{% for i in a %}{{ i }}{% endfor %}{% endset %}{{ o }}{{ o|length }}", kwargs,
      "3123" },
    { "{% with %}{% set w = 3 %}{{ w }}{% endwith %}{{ w }}|", kwargs, "3|" },
    { "{% for i in a %}{% for j in a %}{% if j == i %}{% break %}{% endif %}{{ j }}{% endfo"
      "r %};{% endfor %}",
      kwargs, ";3;31;" },
    { "{% for i in a %}{% for j in a %}{% if j == 1 %}{% continue %}{% endif %}{{ j }}{% en"
      "dfor %};{% endfor %}",
      kwargs, "32;32;32;" },
    { "{% set s.x = 1 %}", kwargs, NULL },
    { "{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns.b }}|", kwargs, "1|" },
    { "{{ raise_exception('boom') }}", kwargs, NULL },
    { "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", kwargs, NULL },
    { "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", kwargs, "11" },
    { "{% for x in range(3) %}{{ x }}{% endfor %} {{ range(5, 1, -2)|list }} {{ range(2, 4)"
      "|list }}",
      kwargs, "012 [5, 3] [2, 3]" },
    { "{{ range(1, 5, 0) }}", kwargs, NULL },
    { "{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }}", kwargs,
      "{'a': 1, 'b': 2} {'x': 1, 'y': 2}" },
    { "{% for m in l %}{{ m.role }}:{{ m.n }}{% if not loop.last %}, {% endif %}{% endfor %"
      "}",
      kwargs, "user:1, tool:2, user:" },
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
