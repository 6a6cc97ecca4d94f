/* Jinja: names, attributes, items and calls; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{{ zz }}|{{ d.zz }}|{{ s.zz }}|{{ a[9] }}|{{ a['x'] }}", kwargs, "||||" },
    { "{{ zz.y }}", kwargs, NULL },
    { "{{ zz['y'] }}", kwargs, NULL },
    { "{{ zz() }}", kwargs, NULL },
    { "{{ s() }}", kwargs, NULL },
    { "{{ d.b }} {{ d['b'] }} {{ d.items() | list }}", kwargs,
      "2 2 [('b', 2), ('A', 1), ('c', [1, {'x': None}])]" },
    { "{{ d.get('b') }} {{ d.get('q') }} {{ d.get('q', 7) }}", kwargs, "2 None 7" },
    { "{{ d.keys()|list }} {{ d.values()|list }}", kwargs,
      "['b', 'A', 'c'] [2, 1, [1, {'x': None}]]" },
    { "{{ s[0] }} {{ u[1] }} {{ u[-1] }}", kwargs, "H \303\251 \344\270\255" },
    { "{% set x = 1 %}{% for i in a %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}", kwargs,
      "4 2 3 1" },
    { "{% set ns = namespace(n=0) %}{% for i in a %}{% set ns.n = ns.n + i %}{% endfor %}{{"
      " ns.n }}",
      kwargs, "6" },
    { "{% for i in a %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex"
      "0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.previtem"
      " }}{{ loop.nextitem }} {% endfor %}",
      kwargs, "1032TrueFalse311 2121FalseFalse3132 3210FalseTrue311 " },
    { "{% for i in a %}{{ loop.cycle('x', 'y') }}{{ loop.changed(i > 1) }} {% endfor %}", kwargs,
      "xTrue yTrue xTrue " },
    { "{% for i in a %}{% for j in [1,2] %}{{ loop.depth0 }}{{ loop.index }}{% endfor %}{{ "
      "loop.index }} {% endfor %}",
      kwargs, "01021 01022 01023 " },
    { "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) "
      "}}",
      kwargs, "3210" },
    { "{% set x = 5 %}{% macro g() %}{{ x }}{% endmacro %}{% set x = 6 %}{{ g() }}", kwargs, "6" },
    { "{{ d.c[1].x }} {{ d.c.1.x }}", kwargs, "None None" },
    { "{{ ''.join(['a', 'b']) }}", kwargs, "ab" },
    { "{% for i in 3 %}{% endfor %}", kwargs, NULL },
    { "{% for c in 'abc' %}{{ c }}.{% endfor %}", kwargs, "a.b.c." },
    { "{% for k in d %}{{ k }}{% endfor %}", kwargs, "bAc" },
    { "{% set x, y = [1] %}", kwargs, NULL },
    { "{{ d.b.c.d }}", kwargs, NULL },
    { "{{ a.append(1) }}", kwargs, NULL },
    { "{{ d.update({'x': 1}) }}", kwargs, NULL },
    { "{{ [1][true] }}", kwargs, "" },
    { "{{ a[1.5] }}|", kwargs, "|" },
    { "{{ {1: 'x', true: 'y', 'k': 2} }}", kwargs, "{1: 'y', 'k': 2}" },
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
