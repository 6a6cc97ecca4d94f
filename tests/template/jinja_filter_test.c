/* Jinja: filters on values; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{{ '  x '|trim }}|{{ 'xxaxx'|trim('x') }}", kwargs, "x|a" },
    { "{{ s|upper }} {{ s|lower }} {{ 'hello world'|title }} {{ 'hELLO wORLD'|capitalize }}"
      " {{ u|upper }}",
      kwargs, "HELLO, WORLD hello, world Hello World Hello world H\303\211SS \344\270\255" },
    { "{{ zz|default('d') }} {{ n|default('d') }} {{ n|default('d', true) }} {{ ''|d('q', b"
      "oolean=true) }} {{ zz|default }}|",
      kwargs, "d None d q |" },
    { "{{ s|length }} {{ a|count }} {{ d|length }} {{ u|length }}", kwargs, "12 3 3 5" },
    { "{{ s|replace('l', 'L') }} {{ s|replace('l', 'L', 1) }} {{ 'abc'|replace('', '-') }}", kwargs,
      "HeLLo, WorLd HeLlo, World -a-b-c-" },
    { "{{ '42'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ 3.9|int }} {{ ' 12 '|int }} {{ '3.7"
      "'|int }} {{ t|int }}",
      kwargs, "42 0 7 3 12 3 1" },
    { "{{ '1.5'|float }} {{ 'x'|float }} {{ 3|float }} {{ 'x'|float(2.5) }}", kwargs,
      "1.5 0.0 3.0 2.5" },
    { "{{ (-3)|abs }} {{ (-2.5)|abs }}", kwargs, "3 2.5" },
    { "{{ 2.567|round(2) }} {{ 2.5|round }} {{ 2.1|round(0, 'ceil') }} {{ 2.9|round(0, 'flo"
      "or') }} {{ 7|round }}",
      kwargs, "2.57 2.0 3.0 2.0 7" },
    { "{{ '<a href=\"x\">&\\'</a>'|e }}", kwargs,
      "&lt;a href=&#34;x&#34;&gt;&amp;&#39;&lt;/a&gt;" },
    { "{{ 1|string + '2' }} {{ n|string }}", kwargs, "12 None" },
    { "{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent('> ', true,"
      " true) }}",
      kwargs, "a\n    b\n\n    c|  a\n  b|> a\n> \n> b" },
    { "{{ d|tojson }} {{ s|tojson }} {{ f|tojson }} {{ n|tojson }} {{ u|tojson }} {{ u|tojs"
      "on(ensure_ascii=true) }}",
      kwargs,
      "{\"b\": 2, \"A\": 1, \"c\": [1, {\"x\": null}]} \"Hello, World\" 2.5 null \"h\303"
      "\251\303\237 \344\270\255\" \"h\\u00e9\\u00df \\u4e2d\"" },
    { "{{ d|tojson(indent=2) }}", kwargs,
      "{\n  \"b\": 2,\n  \"A\": 1,\n  \"c\": [\n    1,\n    {\n      \"x\": null\n    }\n  "
      "]\n}" },
    { "{{ e|tojson(indent=2) }} {{ {}|tojson(indent=4) }}", kwargs, "[] {}" },
    { "{{ d|tojson(separators=(',', ':')) }} {{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }}", kwargs,
      "{\"b\":2,\"A\":1,\"c\":[1,{\"x\":null}]} {\"a\": 2, \"b\": 1}" },
    { "{{ zz|tojson }}", kwargs, NULL },
    { "{{ \"q\\\"\\\\\\n\\t\\x01/\"|tojson }}", kwargs, "\"q\\\"\\\\\\n\\t\\u0001/\"" },
    { "{{ 'a b  c'|wordcount }}", kwargs, "3" },
    { "{{ '%s and %d %r %.2f %%'|format('x', 3.7, 'q', 1.005) }}", kwargs, "x and 3 'q' 1.00 %" },
    { "{{ '%s' % 'x' }} {{ '%s-%s' % (1, 2) }}", kwargs, "x 1-2" },
    { "{{ '%d' % 'x' }}", kwargs, NULL },
    { "{{ 5|length }}", kwargs, NULL },
    { "{{ zz|length }} {{ zz|upper }}|", kwargs, "0 |" },
    { "{{ s|safe }} {{ (1,2)|tojson }}", kwargs, "Hello, World [1, 2]" },
    { "{{ {1: 2, none: 3, true: 4}|tojson }}", kwargs, "{\"1\": 4, \"null\": 3}" },
    { "{{ 1e20|tojson }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 123456789.123 "
      "}} {{ -0.0 }}",
      kwargs, "1e+20 1e+16 1000000000000000.0 0.0001 1e-05 123456789.123 -0.0" },
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
