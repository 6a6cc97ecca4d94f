/* Jinja: global functions; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{{ range(3)|list }} {{ range(0)|list }} {{ range(3, 0, -1)|list }} {{ range(0, 10, 4"
      ")|list }}",
      kwargs, "[0, 1, 2] [] [3, 2, 1] [0, 4, 8]" },
    { "{{ range() }}", kwargs, NULL },
    { "{{ range('x') }}", kwargs, NULL },
    { "{{ range(1, 2, 0) }}", kwargs, NULL },
    { "{% set n = namespace(a=1, b='x') %}{{ n.a }}{{ n.b }}{{ n.c }}|", kwargs, "1x|" },
    { "{% set n = namespace({'a': 1}) %}{{ n.a }}", kwargs, "1" },
    { "{{ dict(a=1).a }}", kwargs, "1" },
    { "{{ raise_exception('x') }}", kwargs, NULL },
    { "{{ strftime_now is defined }}", kwargs, "True" },
    { "{{ range(3)|length }} {{ 2 in range(3) }}", kwargs, "3 True" },
    { "{% for i in range(2) %}{% for j in range(i, 2) %}{{ i }}{{ j }} {% endfor %}{% endfo"
      "r %}",
      kwargs, "00 01 11 " },
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
