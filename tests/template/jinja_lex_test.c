/* Jinja: the lexer: white space, escapes, numbers, raw; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "a\n  {% if t %}\n  b\n  {% endif %}\nc\n", kwargs, "a\n  b\nc" },
    { "a  {%- if t -%}  b  {%- endif -%}  c", kwargs, "abc" },
    { "x {{- 1 -}} y", kwargs, "x1y" },
    { "x\n  {{ 1 }}\n  y\n\n", kwargs, "x\n  1\n  y\n" },
    { "  {%+ if t %}z{% endif +%}\n\nq", kwargs, "  z\n\nq" },
    { "{# c #}\nx {#- d -#} y", kwargs, "xy" },
    { "a {# b #} c\n{# d #}\ne", kwargs, "a  c\ne" },
    { "{{ 'a\\n\\t\\\\\\'\\\"\\x41\\u00e9\\U0001F600\\101\\q' }}", kwargs,
      "a\n\t\\'\"A\303\251\360\237\230\200A\\q" },
    { "{{ \"it's\" }}{{ 'say \"hi\"' }}", kwargs, "it'ssay \"hi\"" },
    { "{{ 1_000 }} {{ 1.5e3 }} {{ 2e-7 }} {{ 0.1 }} {{ 10.0 }}", kwargs,
      "1000 1500.0 2e-07 0.1 10.0" },
    { "{% raw %}{{ x }}{% if %}{% endraw %}|", kwargs, "{{ x }}{% if %}|" },
    { "a {%- raw -%} {{ b }} {%- endraw -%} c", kwargs, "a{{ b }}c" },
    { "{{ {'a': {'b': 1}}.a.b }}", kwargs, "1" },
    { "{{ {'a': {}} }}", kwargs, "{'a': {}}" },
    { "\r\nx\r\n{{ 1 }}\r\n", kwargs, "\nx\n1" },
    { "{{ 'a' 'b' }}", kwargs, "ab" },
    { "{{ '}}' }}{{ '%}' }}", kwargs, "}}%}" },
    { "   {% set x = 1 %}   \n  {{ x }}", kwargs, "   \n  1" },
    { "{{ '''x''' }}", kwargs, "x" },
    { "{{ `x` }}", kwargs, NULL },
    { "{{ 5 ! 3 }}", kwargs, NULL },
    { "{% if t %}\n\n\nx{% endif %}\n\n", kwargs, "\n\nx" },
    { "{%- for i in a %}\n  {{ i }}\n{%- endfor %}", kwargs, "  3  1  2" },
    { "{{ a.0 }}{{ a[1] }}", kwargs, "31" },
    { "#{}{ {", kwargs, "#{}{ {" },
    { "{{ 'x' }}\n{{ 'y' }}\n", kwargs, "x\ny" },
    { "a\r\rb", kwargs, "a\n\nb" },
    { "{{ 'tab\there' }}", kwargs, "tab\there" },
    { "{{+ 1 }}", kwargs, "1" },
    { "{{ 1 +}}", kwargs, NULL },
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
