/* Jinja: methods of texts that search, cut and pad; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'abc'.partition('x') }} {{ "
      "'abc'.rpartition('x') }}",
      NULL, "('a', '-', 'b-c') ('a-b', '-', 'c') ('abc', '', '') ('', '', 'abc')" },
    { "{{ 'a'.partition('') }}", NULL, NULL },
    { "{{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} {{ '+a'.zfill(4) }} {{ '\303\251'.zfill(3) }} {{ "
      "'abc'.zfill(2) }}",
      NULL, "00042 -0042 +00a 00\303\251 abc" },
    { "{{ 'ab'.center(5) }}|{{ 'ab'.ljust(4, '.') }}|{{ '\303\251'.rjust(3, '\344\270\255') }}|{{ "
      "'abc'.center(6, '*') }}",
      NULL, "  ab |ab..|\344\270\255\344\270\255\303\251|*abc**" },
    { "{{ 'a'.center(5, 'xy') }}", NULL, NULL },
    { "{{ 'banana'.find('an') }} {{ 'banana'.rfind('an') }} {{ 'banana'.find('an', 2) }} {{ "
      "'banana'.find('an', -3, -1) }} {{ 'banana'.count('a') }} {{ 'banana'.count('') }} {{ "
      "'\303\251\344\270\255\303\251'.find('\344\270\255') }} {{ 'abc'.find('', 4) }}",
      NULL, "1 3 3 3 3 7 1 -1" },
    { "{{ 'banana'.index('x') }}", NULL, NULL },
    { "{{ 'banana'.rindex('n') }} {{ 'banana'.index('n') }}", NULL, "4 2" },
    { "{{ 'abc'.startswith(('x', 'ab')) }} {{ 'abc'.endswith('bc', 1) }} {{ 'abc'.startswith('b', "
      "1, 2) }} {{ 'abc'.startswith(()) }}",
      NULL, "True True True False" },
    { "{{ 'abc'.startswith(['a']) }}", NULL, NULL },
    { "{{ 'a,b,,c'.split(',') }} {{ 'a,b,,c'.rsplit(',', 1) }} {{ ' a  b '.split(none, 1) }} {{ ' "
      "a  b '.rsplit(none, 1) }} {{ ''.split() }} {{ ''.split(',') }}",
      NULL, "['a', 'b', '', 'c'] ['a,b,', 'c'] ['a', 'b '] [' a', 'b'] [] ['']" },
    { "{{ 'a'.split('') }}", NULL, NULL },
    { "{{ 'aXbX'.removeprefix('a') }} {{ 'aXbX'.removesuffix('X') }} {{ 'a\\tbc\\td'.expandtabs(4) "
      "}} {{ 'a\\nb\\r\\nc\\n'.splitlines() }} {{ 'a\\nb'.splitlines(true) }}",
      NULL, "XbX aXb a   bc  d ['a', 'b', 'c'] ['a\\n', 'b']" },
    { "{{ 'aaa'.replace('a', 'b', 2) }} {{ 'abc'.replace('', '-', 2) }} {{ 'abc'.replace('b', '') "
      "}} {{ '\303\251'.replace('\303\251', 'e') }}",
      NULL, "bba -a-bc ac e" },
    { "{{ '-'.join(['a', 'b']) }} {{ '-'.join('abc') }} {{ ''.join([]) }}|", NULL, "a-b a-b-c |" },
    { "{{ '-'.join([1]) }}", NULL, NULL },
    { "{{ 'xxabxx'.strip('x') }} {{ 'abc'.lstrip('cba') }}| {{ ' a '.rstrip() }}| {{ "
      "'\303\251a\303\251'.strip('\303\251') }}",
      NULL, "ab |  a| a" },
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
