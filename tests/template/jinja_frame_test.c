/* Jinja: assignments; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}", NULL, "123" },
    { "{% set x = y = 1 %}", NULL, NULL },
    { "{% set a, b = 1 %}", NULL, NULL },
    { "{% set a, b = 1, 2, 3 %}", NULL, NULL },
    { "{% set a, b = 'xy' %}{{ b }}{{ a }}", NULL, "yx" },
    { "{% set ns = namespace() %}{% set ns.x, q = 1, 2 %}{{ ns.x }}{{ q }}", NULL, "12" },
    { "{% set d.b = 5 %}", NULL, NULL },
    { "{% set zz.b = 5 %}", NULL, NULL },
    { "{% set ns = namespace(a=1) %}{% for i in a %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a "
      "}}",
      NULL, "7" },
    { "{% set range = 5 %}{{ range }}", NULL, "5" },
    { "{% for range in [1] %}{{ range }}{% endfor %}{{ range(2)|list }}", NULL, "1[0, 1]" },
    { "{% set x = x %}{{ x is defined }}", NULL, "False" },
    { "{% set s = s|upper %}{% for i in [1] %}{{ s }}{% endfor %}", NULL, "HELLO, WORLD" },
    { "{% set (a) = 1 %}{{ a }}", NULL, "1" },
    { "{% set 'a' = 1 %}", NULL, NULL },
    { "{% set a[0] = 1 %}", NULL, NULL },
    { "{% set ns = namespace() %}{% set ns._x = 1 %}", NULL, NULL,
      "an attribute of a namespace that begins with an underscore" },
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
