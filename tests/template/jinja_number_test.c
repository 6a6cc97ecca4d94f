/* Jinja: numbers of templates and how floats are written; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1.5e3 }} {{ 1e3 }} {{ 1_0.5_0 }} {{ 10E-2 "
      "}} {{ 0 }} {{ 00 }}",
      NULL, "31 5 15 1000 1500.0 1000.0 10.5 0.1 0 0" },
    { "{{ 0.1 }} {{ 1e16 }} {{ 123456789012345678.0 }} {{ 1e-5 }} {{ 0.0001 }} {{ 1e22 }} {{ "
      "1.7976931348623157e308 }} {{ 5e-324 }} {{ 2.5e-8 }} {{ -0.0 }} {{ 100.0 }}",
      NULL,
      "0.1 1e+16 1.2345678901234568e+17 1e-05 0.0001 1e+22 1.7976931348623157e+308 5e-324 2.5e-08 "
      "-0.0 100.0" },
    { "{{ 9223372036854775807 }} {{ -9223372036854775807 - 1 }}", NULL,
      "9223372036854775807 -9223372036854775808" },
    { "{{ 012 }}", NULL, NULL },
    { "{{ 1__0 }}", NULL, NULL },
    { "{{ 1.e5 }}", NULL, "" },
    { "{{ 0.1 + 0.2 }} {{ 1 / 3 }} {{ 2 / 3 }} {{ 1e100 }} {{ 3.0 }}", NULL,
      "0.30000000000000004 0.3333333333333333 0.6666666666666666 1e+100 3.0" },
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
