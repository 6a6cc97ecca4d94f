/* Jinja: str.format: fields, conversions and specifications; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ '{} {} {}'.format(1, 'a', none) }} {{ '{1}{0}'.format('a', 'b') }} {{ '{x} {y[0]} "
      "{z.b}'.format(x=1, y=[2], z={'b': 3}) }}",
      NULL, "1 a None ba 1 2 3" },
    { "{{ '{x[k]}'.format(x={'k': 5}) }}", NULL, "5" },
    { "{{ '{{}} {{{}}}'.format(1) }}", NULL, "{} {1}" },
    { "{{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }}", NULL,
      "    a|b    |  c  |***d***" },
    { "{{ '{:5.2f} {:+d} {:05d} {:x} {:#x} {:b} {:,} {:e} {:%}'.format(3.14159, 5, 42, 255, 255, "
      "5, 1234567, 12345.678, 0.25) }}",
      NULL, " 3.14 +5 00042 ff 0xff 101 1,234,567 1.234568e+04 25.000000%" },
    { "{{ '{!r} {!s}'.format('a', 'b') }} {{ '{:.2}'.format('abcdef') }}", NULL, "'a' b ab" },
    { "{{ '{:{}}|{:{w}.{p}}'.format('a', 4, 'bcd', w=5, p=2) }}", NULL, "a   |bc   " },
    { "{{ '{'.format(1) }}", NULL, NULL },
    { "{{ '}'.format(1) }}", NULL, NULL },
    { "{{ '{} {0}'.format(1) }}", NULL, NULL },
    { "{{ '{}'.format() }}", NULL, NULL },
    { "{{ '{x}'.format(1) }}", NULL, NULL },
    { "{{ '{:q}'.format(1) }}", NULL, NULL },
    { "{{ '{:d}'.format('a') }}", NULL, NULL },
    { "{{ '{!z}'.format('a') }}", NULL, NULL },
    { "{{ '{x}'.format_map({'x': 1}) }}", NULL, "1" },
    { "{{ '{0.__class__}'.format('a') }}", NULL, "" },
    { "{{ '{:s}'.format([1]) }}", NULL, NULL },
    { "{{ '{}{}{}'.format([1], {'a': 1}, true) }}", NULL, "[1]{'a': 1}True" },
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
