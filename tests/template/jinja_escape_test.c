/* Jinja: escapes in string literals; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ 'a\\tb\\nc\\\\d\\'e\\\"f' }}", NULL, "a\tb\nc\\d'e\"f" },
    { "{{ '\\x41\\u00e9\\U0001F600\\101\\7' }}|", NULL, "A\303\251\360\237\230\200A\007|" },
    { "{{ 'a\\q\\.\\d' }}", NULL, "a\\q\\.\\d" },
    { "{{ 'a\\\nb' }}", NULL, "ab" },
    { "{{ '\\x4' }}", NULL, NULL },
    { "{{ '\\u12' }}", NULL, NULL },
    { "{{ '\\U00110000' }}", NULL, NULL },
    { "{{ '\\a\\b\\f\\v\\0'|tojson }}", NULL, "\"\\u0007\\b\\f\\u000b\\u0000\"" },
    { "{{ '\303\251\\x41' }}", NULL, "\303\251A" },
    { "{{ 'a' 'b' \"c\" }}", NULL, "abc" },
    { "{{ '\\400' }}", NULL, "\304\200" },
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
