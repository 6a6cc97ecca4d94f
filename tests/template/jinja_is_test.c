/* Jinja: tests; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{% for v in [zz, none, true, 1, 1.5, 'x', [1], (1,), {}] %}{{ v is defined }}{{ v is"
      " none }}{{ v is string }}{{ v is mapping }}{{ v is iterable }}{{ v is sequence }}{{ "
      "v is number }}{{ v is integer }}{{ v is float }}{{ v is boolean }}{{ v is true }}{{ "
      "v is false }}{{ v is callable }} {% endfor %}",
      kwargs,
      "FalseFalseFalseFalseTrueTrueFalseFalseFalseFalseFalseFalseTrue TrueTrueFalseFalseFal"
      "seFalseFalseFalseFalseFalseFalseFalseFalse TrueFalseFalseFalseFalseFalseTrueFalseFal"
      "seTrueTrueFalseFalse TrueFalseFalseFalseFalseFalseTrueTrueFalseFalseFalseFalseFalse "
      "TrueFalseFalseFalseFalseFalseTrueFalseTrueFalseFalseFalseFalse TrueFalseTrueFalseTru"
      "eTrueFalseFalseFalseFalseFalseFalseFalse TrueFalseFalseFalseTrueTrueFalseFalseFalseF"
      "alseFalseFalseFalse TrueFalseFalseFalseTrueTrueFalseFalseFalseFalseFalseFalseFalse T"
      "rueFalseFalseTrueTrueTrueFalseFalseFalseFalseFalseFalseFalse " },
    { "{{ zz is undefined }} {{ zz is not defined }} {{ zz is iterable }} {{ zz is sequence"
      " }}",
      kwargs, "True True True True" },
    { "{{ 1 is eq 1 }} {{ 1 is equalto(2) }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is le 1 }"
      "} {{ 1 is gt 0 }} {{ 1 is ge 2 }} {{ 1 is in a }}",
      kwargs, "True False True True True True False True" },
    { "{{ 3 is odd }} {{ 3 is even }} {{ 9 is divisibleby 3 }}", kwargs, "True False True" },
    { "{{ 'abc' is lower }} {{ 'ABC' is upper }} {{ 'aB' is lower }}", kwargs, "True True False" },
    { "{{ raise_exception is callable }} {{ range is defined }}", kwargs, "True True" },
    { "{{ 1 is sameas 2 }} {{ true is sameas true }}", kwargs, "False True" },
    { "{{ 'upper' is filter }} {{ 'odd' is test }} {{ 'zork' is filter }}", kwargs,
      "True True False" },
    { "{{ 1 is eq }}", kwargs, NULL },
    { "{{ 'x' is odd }}", kwargs, NULL },
    { "{{ a is sequence and a is not mapping and a is not string }}", kwargs, "True" },
    { "{{ s is string and s is sequence }}", kwargs, "True" },
    { "{{ true is number }} {{ true is integer }}", kwargs, "True False" },
    { "{{ d is mapping and d is iterable }}", kwargs, "True" },
    { "{{ namespace(a=1) is mapping }}", kwargs, "False" },
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
