/* Jinja: expressions: precedence and forms; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}", kwargs, "7 9 64 4" },
    { "{{ 'a' ~ 1 + 2 ~ 'b' }}", kwargs, "a12b" },
    { "{{ not t and n }}{{ not (t and n) }}", kwargs, "FalseTrue" },
    { "{{ 1 if t else 2 }} {{ 1 if n else 2 }} {{ 1 if n }}|", kwargs, "1 2 |" },
    { "{{ 'x' if n else 'y' if e else 'z' }}", kwargs, "z" },
    { "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }}", kwargs, "True False" },
    { "{{ 1 in a and 5 not in a }}", kwargs, "True" },
    { "{{ a[0] + a[-1] }} {{ a[1:] }} {{ a[:-1] }} {{ a[::2] }} {{ a[::-1] }} {{ s[1:4] }} "
      "{{ s[-3:] }} {{ s[::-1] }}",
      kwargs, "5 [1, 2] [3, 1] [3, 2] [2, 1, 3] ell rld dlroW ,olleH" },
    { "{{ (1, 2) }} {{ (1,) }} {{ () }} {{ [] }} {{ {} }} {{ 1, 2 }}", kwargs,
      "(1, 2) (1,) () [] {} (1, 2)" },
    { "{{ {'a': 1, 'b': [1, 2]}['b'][1] }}", kwargs, "2" },
    { "{{ s|upper|lower|title }}", kwargs, "Hello, World" },
    { "{{ -a[0] }} {{ -5|abs }} {{ +3 }}", kwargs, "-3 5 3" },
    { "{{ a is defined and zz is not defined }}", kwargs, "True" },
    { "{{ 5 is divisibleby 5 }} {{ 4 is divisibleby(3) }}", kwargs, "True False" },
    { "{{ 'b' is in ['a', 'b'] }}", kwargs, "True" },
    { "{{ t or zz.y }}", kwargs, "True" },
    { "{{ s.lower().split(', ')[1] }}", kwargs, "world" },
    { "{{ [1, 2, 3,][2] }} {{ {'a': 1,}.a }}", kwargs, "3 1" },
    { "{{ (", kwargs, NULL },
    { "{{ a[ }}", kwargs, NULL },
    { "{{ a. }}", kwargs, NULL },
    { "{{ 1 + }}", kwargs, NULL },
    { "{{ a b }}", kwargs, NULL },
    { "{{ f( }}", kwargs, NULL },
    { "{{ a[1:2:3:4] }}", kwargs, NULL },
    { "{{ d['c'][1]['x'] is none }}", kwargs, "True" },
    { "{{ 'a' is string is boolean }}", kwargs, NULL },
    { "{{ a|length > 2 and a|first == 3 }}", kwargs, "True" },
    { "{{ 10 // 3 }} {{ -10 // 3 }} {{ -10 % 3 }} {{ 10 % -3 }} {{ 7 / 2 }} {{ 7.5 // 2 }} "
      "{{ -7.5 % 2 }}",
      kwargs, "3 -4 2 -2 3.5 3.0 0.5" },
    { "{{ none is none }}{{ None is none }}{{ True }}{{ true }}", kwargs, "TrueTrueTrueTrue" },
    { "{{ not 1 in a }}", kwargs, "False" },
    { "{{ a is not none }}", kwargs, "True" },
    { "{{ 1 if false else 2 if false else 3 }}", kwargs, "3" },
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
