/* Jinja: kinds of letters; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ 'a\303\251\344\270\255'.isalpha() }} {{ 'a1'.isalnum() }} {{ '\302\262'.isdigit() }} {{ "
      "'\302\262'.isdecimal() }} {{ '\302\275'.isnumeric() }} {{ '\331\241'.isdecimal() }} {{ "
      "''.isalpha() }} {{ '\360\235\237\230'.isdecimal() }}",
      NULL, "True True True False True True False True" },
    { "{{ ' \\u3000\\x1c'.isspace() }} {{ '\\u200b'.isspace() }} {{ 'a\\x07'.isprintable() }} {{ "
      "'\303\251 '.isprintable() }} {{ '\\u2028'.isprintable() }} {{ 'a\303\251'.isascii() }} {{ "
      "''.isascii() }}",
      NULL, "True False False True False False True" },
    { "{{ 'a_1'.isidentifier() }} {{ '1a'.isidentifier() }}", NULL, "True False" },
    { "{{ '\\u00a0 x \\u2003'.strip() }}|{{ '\\u3000x'|trim }}|{{ 'a\\u00a0b\\u2028c'.split() }}",
      NULL, "x|x|['a', 'b', 'c']" },
    { "{{ ['\\x7f\\u0080\\u00ad\\u200b\\ue000\\U0001F600\303\251'] }}", NULL,
      "['\\x7f\\x80\\xad\\u200b\\ue000\360\237\230\200\303\251']" },
    { "{{ 'a\\x85b\\u2028c\\x1dd\\r\\ne'.splitlines() }}", NULL, "['a', 'b', 'c', 'd', 'e']" },
    { "{{ 'e\\u0301'|length }} {{ '\360\237\230\200'|length }} {{ 'a\360\237\230\200b'[1] }} {{ "
      "'a\360\237\230\200b'[::-1] }}",
      NULL, "2 1 \360\237\230\200 b\360\237\230\200a" },
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
