/* Jinja: operations on strings; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{{ '\303\237a\307\206'|upper }} {{ '\303\211\316\231'|lower }} {{ 'o\\'neil mc-donal"
      "d 3rd'.title() }}",
      kwargs, "SSA\307\204 \303\251\316\271 O'Neil Mc-Donald 3Rd" },
    { "{{ 'aaa'.replace('aa', 'b') }} {{ 'abc'.replace('b', '') }} {{ ''.replace('', 'x') }"
      "} {{ 'ab'.replace('', 'x', 2) }}",
      kwargs, "ba ac x xaxb" },
    { "{{ 'a--b--c'.split('--') }} {{ 'a--b--c'.rsplit('--', 1) }} {{ 'abc'.rsplit('x', 1) "
      "}} {{ ' a b '.rsplit() }}",
      kwargs, "['a', 'b', 'c'] ['a--b', 'c'] ['abc'] ['a', 'b']" },
    { "{{ '\\n\\na\\n'.splitlines() }}", kwargs, "['', '', 'a']" },
    { "{{ '\344\270\255\346\226\207\344\270\255'.rfind('\344\270\255') }} {{ 'abc'.find('')"
      " }} {{ 'abc'.rfind('') }} {{ 'aaa'.count('a') }} {{ 'abc'.count('') }}",
      kwargs, "2 0 3 3 4" },
    { "{{ 'a  b'.split(' ') }} {{ 'a b c d'.split(' ', 2) }} {{ 'a b'.split(' ', 0) }}", kwargs,
      "['a', '', 'b'] ['a', 'b', 'c d'] ['a b']" },
    { "{{ '%s %s' % ('a',) }}", kwargs, NULL },
    { "{{ '%s' % ('a', 'b') }}", kwargs, NULL },
    { "{{ '100%%' % () }} {{ '%d' % 3.9 }}", kwargs, "100% 3" },
    { "{{ ['a', 1, none]|join('') }}", kwargs, "a1None" },
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
