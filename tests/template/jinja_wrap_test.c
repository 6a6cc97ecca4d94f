/* Jinja: truncate, wordwrap, indent, center, title and their kin; the expected texts are jinja2's.
 */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ 'Hello big world'|truncate(9) }}|{{ 'Hello big world'|truncate(9, true) }}|{{ 'Hello big "
      "world'|truncate(9, false, '..') }}|{{ 'Hello'|truncate(3, leeway=5) }}|{{ 'Hello big "
      "world'|truncate(11, leeway=0) }}",
      NULL, "Hello...|Hello ...|Hello..|Hello|Hello..." },
    { "{{ 'ab'|truncate(1) }}", NULL, NULL },
    { "{{ 'a long line of words'|wordwrap(8) }}", NULL, "a long\nline of\nwords" },
    { "{{ 'a long-hyphenated-word here'|wordwrap(10) }}|{{ 'abcdefghij'|wordwrap(4) }}|{{ "
      "'abcdefghij k'|wordwrap(4, false) }}|{{ 'a b c'|wordwrap(3, wrapstring='/') }}",
      NULL, "a long-hyp\nhenated-\nword here|abcd\nefgh\nij|abcdefghij\nk|a b/c" },
    { "{{ 'a-b-c'|wordwrap(2, break_on_hyphens=false) }}|{{ 'x\\n\\ny z'|wordwrap(3) }}", NULL,
      "a-\nb-\nc|x\n\ny z" },
    { "{{ 'a'|wordwrap(0) }}", NULL, NULL },
    { "{{ 'a\\nb\\n\\nc'|indent }}|{{ 'a\\nb'|indent(2, true) }}|{{ 'a\\n\\nb'|indent('> ', true, "
      "true) }}|{{ ''|indent(2, true) }}",
      NULL, "a\n    b\n\n    c|  a\n  b|> a\n> \n> b|  " },
    { "{{ 'ab'|center(6) }}|{{ 'ab'|center }}|", NULL,
      "  ab  |                                       ab                                       |" },
    { "{{ 'hello-world foo(bar) [x] <y'|title }} {{ \"they're\"|title }} {{ 5|title }}", NULL,
      "Hello-World Foo(Bar) [X] <Y They're 5" },
    { "{{ 'a b  c_d'|wordcount }} {{ '\303\251 \344\270\255'|wordcount }} {{ ' x '|trim }}|{{ "
      "'xax'|trim('x') }}",
      NULL, "3 2 x|a" },
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
