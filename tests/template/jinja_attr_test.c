/* Jinja: attributes, items and those that the sandbox hides; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ d.b }} {{ d['b'] }} {{ d.items is callable }} {{ d['items'] is callable }} {{ {'items': "
      "1}.items is callable }} {{ {'items': 1}['items'] }}",
      NULL, "2 2 True True True 1" },
    { "{{ a[0] }} {{ a[-1] }} {{ a.0 }} {{ a[9] is defined }} {{ s[4] }} {{ u[-1] }} {{ u[9] is "
      "defined }} {{ a['x'] is defined }}",
      NULL, "3 2 3 False o \344\270\255 False False" },
    { "{{ s.nope is defined }} {{ s.__class__ is defined }} {{ d._x is defined }} {{ {'_x': "
      "1}['_x'] }} {{ {'_x': 1}._x }}",
      NULL, "False False False 1 1" },
    { "{{ s.__class__ }}", NULL, "" },
    { "{{ s['__class__'] }}|", NULL, "|" },
    { "{{ d.zz.yy }}", NULL, NULL },
    { "{{ n.x }}|", NULL, "|" },
    { "{{ n['x'] }}|", NULL, "|" },
    { "{{ 5['x'] }}|{{ f.real }} {{ (5).imag }}", NULL, "|2.5 0" },
    { "{{ zz['x'] }}", NULL, NULL },
    { "{{ a.append(1) }}", NULL, NULL },
    { "{{ d.update({}) }}", NULL, NULL },
    { "{{ d.clear is callable }} {{ a.append is callable }}", NULL, "True True" },
    { "{{ d[[1]] }}|", NULL, "|" },
    { "{{ d[{}] }}|", NULL, "|" },
    { "{{ a[1.5] }}|{{ a[true] }}", NULL, "|1" },
    { "{{ {1: 'x', none: 'y'}[1.0] }}{{ {1: 'x', none: 'y'}[none] }}{{ {1: 'x'}[true] }}", NULL,
      "xyx" },
    { "{{ l[0].role.upper() }} {{ l|map(attribute='role')|first }}", NULL, "USER user" },
    { "{{ d|attr('b') }}|{{ d|attr('get')('b') }}|{{ s|attr('upper')() }}", NULL,
      "|2|HELLO, WORLD" },
    { "{{ range(5)[1] }} {{ range(5)[-1] }} {{ range(5)[7] is defined }} {{ (1, 2)[1] }}", NULL,
      "1 4 False 2" },
    { "{% for x in [1] %}{{ loop.nope is defined }}{{ loop.index }}{{ loop['index'] }}{% endfor %}",
      NULL, "False11" },
    { "{% macro m(x, y=1) %}{% endmacro %}{{ m.name }} {{ m.arguments }} {{ m.caller }} {{ "
      "m.catch_varargs }}",
      NULL, NULL, "the attribute caller of a macro" },
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
