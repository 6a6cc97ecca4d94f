/* Jinja: names that a branch may set; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{% if t %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endif %}{{ x }}", NULL, "1" },
    { "{% if not t %}{% set s = 1 %}{% endif %}{{ s }}", NULL, "Hello, World" },
    { "{% set x = 0 %}{% if t %}{% if t %}{% set x = 5 %}{% endif %}{% endif %}{{ x }}", NULL,
      "5" },
    { "{% for i in a %}{% if i == 1 %}{% set y = i %}{% endif %}{{ y }};{% endfor %}", NULL,
      ";1;;" },
    { "{% set y = 9 %}{% for i in a %}{% if i == 1 %}{% set y = i %}{% endif %}{{ y }};{% endfor "
      "%}{{ y }}",
      NULL, "9;1;9;9" },
    { "{% macro m(p) %}{% if p %}{% set r = p %}{% endif %}{{ r }}|{% endmacro %}{{ m(1) }}{{ m(0) "
      "}}",
      NULL, "1||" },
    { "{% set s = s ~ '!' %}{{ s }}", NULL, "Hello, World!" },
    { "{% for x in a recursive %}{% set s = x %}{{ s }}{% endfor %}{{ s }}", NULL,
      "312Hello, World" },
    { "{% with %}{% set s = 1 %}{% macro m() %}{{ s }}{% endmacro %}{{ m() }}{% endwith %}{{ s }}",
      NULL, "1Hello, World" },
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
