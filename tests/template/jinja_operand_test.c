/* Jinja: literals, brackets, calls, filters and tests; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ [1, 'a', none, true, 1.5,] }} {{ (1,) }} {{ () }} {{ (1) }} {{ {'a': 1, 'b': [2],} }} {{ "
      "1, 2 }}",
      NULL, "[1, 'a', None, True, 1.5] (1,) () 1 {'a': 1, 'b': [2]} (1, 2)" },
    { "{{ 'a' 'b' }} {{ \"x\" 'y' }}", NULL, "ab xy" },
    { "{{ d.c[1].x }} {{ d['c'][0] }} {{ a[1:][0] }} {{ a[:2] }} {{ a[::2] }} {{ a[:] }}", NULL,
      "None 1 1 [3, 1] [3, 2] [3, 1, 2]" },
    { "{{ a[1, 2] is defined }}", NULL, "False" },
    { "{{ range(3)|list|last }} {{ 'a'|upper|lower|length }} {{ -1|abs }} {{ (-1)|abs }} {{ +1 }} "
      "{{ --1 }}",
      NULL, "2 1 1 1 1 1" },
    { "{{ 4 is divisibleby 2 }} {{ 4 is divisibleby(3) }} {{ 4 is not odd }} {{ 'a' is in ['a'] }} "
      "{{ 1 is eq 1 }} {{ a is defined and zz is not defined }}",
      NULL, "True False True True True True" },
    { "{{ 1 is odd is odd }}", NULL, NULL },
    { "{{ True and TRUE }}|", NULL, "|" },
    { "{{ true }} {{ True }} {{ none }} {{ None }} {{ false }}", NULL,
      "True True None None False" },
    { "{{ dict(a=1)(2) }}", NULL, NULL },
    { "{{ f(a=1, a=2) }}", NULL, NULL },
    { "{{ f(**{}, *[]) }}", NULL, NULL },
    { "{{ f(a=1, 2) }}", NULL, NULL },
    { "{{ (1, }}", NULL, NULL },
    { "{{ [1 2] }}", NULL, NULL },
    { "{{ {'a'} }}", NULL, NULL },
    { "{{ a.b. }}", NULL, NULL },
    { "{{ .5 }}", NULL, NULL },
    { "{{ 5.x }}|", NULL, "|" },
    { "{{ a|  first }} {{ a | join ( ',' ) }}", NULL, "3 3,1,2" },
    { "{{ 2 ** 3|abs }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ 'a' ~ 1 + 2 ~ 'b' }} {{ 2 * 3 ~ 4 }}",
      NULL, "8 4 64 a12b 64" },
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
