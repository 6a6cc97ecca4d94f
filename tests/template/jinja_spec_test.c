/* Jinja: format specifications; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ '{:<6}|{:>6}|{:^6}|{:=+6}'.format(1, 2, 3, 4) }}", NULL, "1     |     2|  3   |+    4" },
    { "{{ '{:06.2f}|{:+.1e}|{:g}|{:G}|{:n}'.format(3.14159, 12345.6, 1e10, 1e-10, 5) }}", NULL,
      "003.14|+1.2e+04|1e+10|1E-10|5" },
    { "{{ '{:,}|{:_}|{:_x}|{:,.2f}'.format(1234567, 1234567, 65535, 12345.678) }}", NULL,
      "1,234,567|1_234_567|ffff|12,345.68" },
    { "{{ '{:c}|{:o}|{:#b}|{:X}'.format(65, 8, 5, 255) }}", NULL, "A|10|0b101|FF" },
    { "{{ '{:\303\251^5}|{:10.3}|{:s}'.format('a', 'abcdef', 'x') }}", NULL,
      "\303\251\303\251a\303\251\303\251|abc       |x" },
    { "{{ '{:%}|{:.0%}|{:5}|{:<5}'.format(0.5, 0.256, true, none|string) }}", NULL,
      "50.000000%|26%|    1|None " },
    { "{{ '{:=5}'.format('a') }}", NULL, NULL },
    { "{{ '{:+}'.format('a') }}", NULL, NULL },
    { "{{ '{:.2}'.format(5) }}", NULL, NULL },
    { "{{ '{:,}'.format('a') }}", NULL, NULL },
    { "{{ '{:5}'.format([1]) }}", NULL, NULL },
    { "{{ '{:x}'.format(1.5) }}", NULL, NULL },
    { "{{ '{:-}|{: }'.format(-5, 5) }}", NULL, "-5| 5" },
    { "{{ '{:.3}|{:.10}|{:#.3g}'.format(1234.5, 0.1, 1.0) }}", NULL, "1.23e+03|0.1|1.00" },
    { "{{ '{:=08,}|{:0=8,}|{:0>8,}|{:<08,}'.format(1234, 1234, 1234, 1234) }}", NULL,
      "0,001,234|0,001,234|0001,234|1,234000" },
    { "{{ '{:z}'.format(1) }}", NULL, NULL, "the flag z of a format" },
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
