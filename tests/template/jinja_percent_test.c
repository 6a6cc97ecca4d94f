/* Jinja: the % of texts; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ '%s %d %i %5d|%-5d|%05d %+d' % ('a', 1, 2, 3, 4, 5, 6) }}", NULL,
      "a 1 2     3|4    |00005 +6" },
    { "{{ '%.2f %8.3f|%e %g %G' % (3.14159, 2.5, 12345.678, 0.00001, 1e20) }}", NULL,
      "3.14    2.500|1.234568e+04 1e-05 1E+20" },
    { "{{ '%x %X %#x %o %c %c' % (255, 255, 255, 8, 65, '\303\251') }}", NULL,
      "ff FF 0xff 10 A \303\251" },
    { "{{ '%r %a' % ('\303\251', '\303\251') }}", NULL, "'\303\251' '\\xe9'" },
    { "{{ '%(a)s %(b)d' % {'a': 'x', 'b': 2} }}", NULL, "x 2" },
    { "{{ '%%' % () }} {{ '%s' % 'a' }} {{ '%s' % [1, 2] }} {{ '%s' % none }}", NULL,
      "% a [1, 2] None" },
    { "{{ '%10s|%-10s|%.2s' % ('a', 'b', 'cde') }}", NULL, "         a|b         |cd" },
    { "{{ '%*d' % (5, 3) }}", NULL, "    3" },
    { "{{ '%d' % 'a' }}", NULL, NULL },
    { "{{ '%s %s' % 'a' }}", NULL, NULL },
    { "{{ '%s' % (1, 2) }}", NULL, NULL },
    { "{{ '%' % () }}", NULL, NULL },
    { "{{ '%z' % 1 }}", NULL, NULL },
    { "{{ 'a' % 1 }}", NULL, NULL },
    { "{{ 'a' % {} }}", NULL, "a" },
    { "{{ '%(a)s' % 'b' }}", NULL, NULL },
    { "{{ '%s|%s'|format('a', 'b') }} {{ '%(x)s'|format(x=1) }} {{ '%d' % 3.9 }} {{ '%s' % true }}",
      NULL, "a|b 1 3 True" },
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
