/* Jinja: truth, equality, order; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{% for v in [none, true, false, 0, 1, 0.0, 'a', '', [], [0], {}, {'a': 1}, (), zz] %"
      "}{{ 1 if v else 0 }}{% endfor %}",
      kwargs, "01001010010100" },
    { "{{ [1, 'a', none] == [1, 'a', none] }} {{ {'a': [1]} == {'a': [2]} }} {{ {'a': 1, 'b"
      "': 2} == {'b': 2, 'a': 1} }} {{ 'a' == 1 }}",
      kwargs, "True False True False" },
    { "{{ (1, 'a') in [(1, 'a')] }}", kwargs, "True" },
    { "{{ [[1, 2], [1]]|sort }}", kwargs, "[[1], [1, 2]]" },
    { "{{ [true, 0, 2]|sort }} {{ [1, 1.5, 0.5]|sort }}", kwargs, "[0, True, 2] [0.5, 1, 1.5]" },
    { "{{ [none, 1]|sort }}", kwargs, NULL },
    { "{{ '\342\200\203a\343\200\200'|trim }}|{{ '\\x1c\\x85b'|trim }}|", kwargs, "a|b|" },
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
