/* Jinja: methods of strings, lists and dictionaries; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{{ '  a b '.strip() }}|{{ 'xxaxx'.lstrip('x') }}|{{ 'axx'.rstrip('x') }}|{{ 'abcab'."
      "strip('ab') }}",
      kwargs, "a b|axx|a|c" },
    { "{{ s.upper() }} {{ s.lower() }} {{ 'they\\'re bill\\'s'.title() }} {{ 'aBC'.capitali"
      "ze() }}",
      kwargs, "HELLO, WORLD hello, world They'Re Bill'S Abc" },
    { "{{ s.startswith('He') }} {{ s.endswith('x') }} {{ s.startswith(('x', 'H')) }} {{ s.e"
      "ndswith('') }}",
      kwargs, "True False True True" },
    { "{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b"
      " c'.split(none, 1) }} {{ ''.split(',') }} {{ ''.split() }} {{ 'a,b,c'.rsplit(',', 1)"
      " }}",
      kwargs, "['a', 'b', '', 'c'] ['a', 'b'] ['a', 'b,c'] ['a', 'b c'] [''] [] ['a,b', 'c']" },
    { "{{ 'a\nb\r\nc'.splitlines() }}", kwargs, "['a', 'b', 'c']" },
    { "{{ 'aXbXc'.replace('X', '-') }} {{ 'aXbXc'.replace('X', '-', 1) }}", kwargs, "a-b-c a-bXc" },
    { "{{ s.find('o') }} {{ s.rfind('o') }} {{ s.find('zz') }} {{ s.index('W') }} {{ s.coun"
      "t('l') }} {{ u.find('\344\270\255') }}",
      kwargs, "4 8 -1 7 3 4" },
    { "{{ s.index('zz') }}", kwargs, NULL },
    { "{{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ 'ab'.isalpha() }} {{ ' '.isspace() }} {"
      "{ 'AB'.isupper() }} {{ 'ab'.islower() }} {{ ''.isdigit() }}",
      kwargs, "True True True True True True False" },
    { "{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }}", kwargs,
      "x x" },
    { "{{ ','.join(['a', 'b']) }}", kwargs, "a,b" },
    { "{{ ','.join([1]) }}", kwargs, NULL },
    { "{{ a.index(1) }} {{ a.count(3) }}", kwargs, "1 1" },
    { "{{ a.index(99) }}", kwargs, NULL },
    { "{{ d.copy().b }}", kwargs, "2" },
    { "{{ 'a'.split('') }}", kwargs, NULL },
    { "{{ 'a'.replace('a') }}", kwargs, NULL },
    { "{{ 'a'.startswith(1) }}", kwargs, NULL },
    { "{{ 'abc'.upper().lower().title() }}", kwargs, "Abc" },
    { "{{ (1, 2).index(2) }}", kwargs, "1" },
    { "{{ '\302\240x\342\200\203'.strip() }}|", kwargs, "x|" },
    { "{{ a.pop() }}", kwargs, NULL },
    { "{{ d.clear() }}", kwargs, NULL },
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
