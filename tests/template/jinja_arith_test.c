/* Jinja: operators; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{{ 1 + 1.5 }} {{ 3 - 5 }} {{ 2 * 3.0 }} {{ 6 / 3 }} {{ 7 // 2 }} {{ 7 % 3 }} {{ 2 **"
      " 10 }} {{ 2 ** -1 }} {{ 2.0 ** 3 }}",
      kwargs, "2.5 -2 6.0 2.0 3 1 1024 0.5 8.0" },
    { "{{ true + true }} {{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ [1] * 2 }} {{ [1] + [2, 3] }} {{ "
      "(1,) + (2,) }} {{ 'a' * -1 }}|",
      kwargs, "2 ababab ababab [1, 1] [1, 2, 3] (1, 2) |" },
    { "{{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' == 'a' }} {{ [1, [2]] == [1, [2]] }} {{ {'a': "
      "1} == {'a': 1.0} }} {{ (1,) == [1] }} {{ none == false }} {{ zz == yy }}",
      kwargs, "True True True True True False False True" },
    { "{{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 'Z' < 'a' }} {{ 1 <= 1.0 }} {{ 'abc' >= 'ab"
      "' }}",
      kwargs, "True True True True True" },
    { "{{ 1 < 'a' }}", kwargs, NULL },
    { "{{ none < 1 }}", kwargs, NULL },
    { "{{ 1 + 'a' }}", kwargs, NULL },
    { "{{ 'a' + 1 }}", kwargs, NULL },
    { "{{ 'a' - 'b' }}", kwargs, NULL },
    { "{{ zz + 1 }}", kwargs, NULL },
    { "{{ none + 1 }}", kwargs, NULL },
    { "{{ -'a' }}", kwargs, NULL },
    { "{{ 5 / 0 }}", kwargs, NULL },
    { "{{ 5 % 0 }}", kwargs, NULL },
    { "{{ 'b' in 'abc' }} {{ 'x' in d }} {{ 'b' in d }} {{ 1 in (1, 2) }} {{ '' in 'abc' }}"
      " {{ 3 not in a }} {{ 'x' in zz }}",
      kwargs, "True False True True True False False" },
    { "{{ 1 in 'abc' }}", kwargs, NULL },
    { "{{ 1 in 5 }}", kwargs, NULL },
    { "{{ 'abc'[10:] }}|{{ 'abc'[-10:2] }} {{ a[5:] }} {{ 'abcdef'[4:1:-1] }} {{ 'abcdef'[:"
      ":-2] }} {{ a[-2:] }} {{ a[10::-1] }} {{ a[:0] }}",
      kwargs, "|ab [] edc fdb [1, 2] [2, 1, 3] []" },
    { "{{ a['x':] }}", kwargs, NULL },
    { "{{ a[::0] }}", kwargs, NULL },
    { "{{ 'x' ~ none ~ 1.0 ~ true ~ [1, 'a'] }}", kwargs, "xNone1.0True[1, 'a']" },
    { "{{ zz ~ 'x' }}", kwargs, "x" },
    { "{{ u[1:2] }} {{ u[-1:] }}", kwargs, "\303\251 \344\270\255" },
    { "{{ -7 // 2 }} {{ -7 % 2 }} {{ 7 // -2 }} {{ 7.0 // 2 }} {{ 1e3 }}", kwargs,
      "-4 1 -4 3.0 1000.0" },
    { "{{ 0 ** 0 }} {{ 1 ** 100 }} {{ (-2) ** 3 }}", kwargs, "1 1 -8" },
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
