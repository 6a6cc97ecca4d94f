/* Jinja: letters of Unicode in other cases; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ 'stra\303\237e \305\211 \357\254\201'|upper }} {{ '\304\260STANBUL "
      "\316\243\316\221\316\243 \316\221\316\243.'|lower }} {{ 'stra\303\237e "
      "\341\272\236'.casefold() }}",
      NULL,
      "STRASSE \312\274N FI i\314\207stanbul \317\203\316\261\317\202 \316\261\317\202. strasse "
      "ss" },
    { "{{ '\307\206 \357\254\201 \303\251a'|title }} {{ \"it's o'clock 3rd\".title() }} {{ \"it's "
      "o'clock-x\"|title }}",
      NULL, "\307\204 FI \303\211a It'S O'Clock 3Rd It's O'clock-X" },
    { "{{ '\303\211COLE \303\237'.capitalize() }} {{ '\303\237x'|capitalize }} {{ "
      "'\307\206x'.capitalize() }} {{ 'Ab\303\207\303\237\316\243'.swapcase() }}",
      NULL, "\303\211cole \303\237 Ssx \307\205x aB\303\247SS\317\202" },
    { "{{ '\316\221\316\243 \316\243 \316\221\316\243\316\221 \316\221.\316\243'|lower }} {{ "
      "'\316\237\316\224\316\245\316\243\316\243\316\225\316\245\316\243'.title() }}",
      NULL,
      "\316\261\317\202 \317\203 \316\261\317\203\316\261 \316\261.\317\202 "
      "\316\237\316\264\317\205\317\203\317\203\316\265\317\205\317\202" },
    { "{{ '\303\211' is upper }} {{ '\303\251' is lower }} {{ '\307\205'.istitle() }} {{ "
      "'\303\237'.isupper() }} {{ '\303\211a \303\211'.istitle() }} {{ '1'.islower() }} {{ "
      "'\302\252'.islower() }}",
      NULL, "True True True False True False True" },
    { "{{ u|upper }} {{ u|title }} {{ ''|capitalize }}|", NULL,
      "H\303\211SS \344\270\255 H\303\251\303\237 \344\270\255 |" },
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
