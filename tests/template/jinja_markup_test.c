/* Jinja: results of safe and escape; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ '<a>'|e }} {{ '<a>'|e|e }} {{ '<a>'|escape|forceescape }} {{ '<a>'|safe }} {{ "
      "'<a>'|safe|e }} {{ 5|e }} {{ none|e }}",
      NULL, "&lt;a&gt; &lt;a&gt; &amp;lt;a&amp;gt; <a> <a> 5 None" },
    { "{{ ('<b>'|safe) + '<c>' }} {{ '<c>' + ('<b>'|safe) }} {{ ('<b>'|safe) * 2 }} {{ "
      "('<b>'|safe) ~ '<c>' }} {{ ('<b>'|safe)[:2] + '<' }} {{ ('<b>'|safe)[0] + '<' }}",
      NULL, "<b>&lt;c&gt; &lt;c&gt;<b> <b><b> <b><c> <b&lt; <&lt;" },
    { "{{ (('ab'|safe)|last) + '<' }} {{ (('ab'|safe)|first) + '<' }}", NULL, "b&lt; a<" },
    { "{{ ('a'|safe) + 1 }}", NULL, NULL },
    { "{{ ['<'|e] }} {{ ('a'|safe) == 'a' }} {{ ('a'|safe)|length }} {{ 'a'|safe is escaped }} {{ "
      "'a' is escaped }}",
      NULL, "[Markup('&lt;')] True 1 True False" },
    { "{{ {'a': '<', 'b': none, 'c': zz, 'd': 1}|xmlattr }}|{{ {}|xmlattr }}|{{ {'a': "
      "1}|xmlattr(false) }}",
      NULL, " a=\"&lt;\" d=\"1\"||a=\"1\"" },
    { "{{ {'a b': 1}|xmlattr }}", NULL, NULL },
    { "{{ 'a b/\303\274?&='|urlencode }} {{ {'a': 'b c', 'd': 1}|urlencode }} {{ [('x', "
      "'/')]|urlencode }}",
      NULL, "a%20b/%C3%BC%3F%26%3D a=b+c&d=1 x=%2F" },
    { "{{ ('x'|safe) is string }} {{ {'a'|safe: 1}['a'] }}", NULL, "True 1" },
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
