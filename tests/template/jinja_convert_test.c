/* Jinja: int and float of texts, rounding, sums; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ ' 42 '|int }} {{ '4_2'|int }} {{ '0x1f'|int(base=16) }} {{ '1f'|int(0, 16) }} {{ "
      "'z'|int(base=36) }} {{ '0b11'|int(base=2) }} {{ '-0o17'|int(0, 8) }} {{ '012'|int(7, 0) }} "
      "{{ '0x1f'|int(7, 0) }}",
      NULL, "42 42 31 31 35 3 -15 12 31" },
    { "{{ '\331\244\331\242'|int }} {{ '\357\274\221\357\274\222'|int }} {{ '1e3'|int }} {{ "
      "'1__0'|int(9) }} {{ ''|int }} {{ '+5'|int }} {{ '3.99'|int }} {{ -3.99|int }} {{ "
      "none|int(4) }} {{ []|int(3) }} {{ zz|int(2) }}",
      NULL, NULL },
    { "{{ ' 1_0.5 '|float }} {{ '1e-3'|float }} {{ '.5'|float }} {{ '5.'|float }} {{ 'x'|float(2) "
      "}} {{ none|float }} {{ true|float }} {{ '\331\241.\331\245'|float }}",
      NULL, "10.5 0.001 0.5 5.0 2 0.0 1.0 1.5" },
    { "{{ 2.675|round(2) }} {{ 0.5|round }} {{ 1.5|round }} {{ -0.5|round }} {{ 1234.5|round(-2) "
      "}} {{ 2.1|round(0, 'ceil') }} {{ 2.15|round(1, 'floor') }} {{ 1e300|round(2) }}",
      NULL, "2.67 0.0 2.0 -0.0 1200.0 3.0 2.1 1e+300" },
    { "{{ 2.5|round(0, 'x') }}", NULL, NULL },
    { "{{ 'a'|round }}", NULL, NULL },
    { "{{ [1, 2.5, true]|sum }} {{ l[:2]|sum('n') }} {{ []|sum(start=3) }} {{ [[1], "
      "[2]]|sum(start=[]) }}",
      NULL, "4.5 3 3 [1, 2]" },
    { "{{ ['a']|sum }}", NULL, NULL },
    { "{{ 1000000|filesizeformat }} {{ 1|filesizeformat }} {{ 1024|filesizeformat(true) }} {{ "
      "999|filesizeformat }} {{ 12345678|filesizeformat }}",
      NULL, "1.0 MB 1 Byte 1.0 KiB 999 Bytes 12.3 MB" },
    { "{{ (-5)|abs }} {{ true|abs }} {{ -2.5|abs }}", NULL, "5 1 2.5" },
    { "{{ 'a'|abs }}", NULL, NULL },
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
