/* Jinja: the keys of dictionaries, and lengths; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ '\303\251\344\270\255\360\237\230\200'|length }} {{ ''|length }} {{ {'a': 1}|leng"
      "th }}",
      "{}", "3 0 1" },
    { "{{ {'a': 1, 'a': 2} }} {{ {1: 'a', 1.0: 'b'} }}", "{}", "{'a': 2} {1: 'b'}" },
    { "{{ {[1]: 2} }}", "{}", NULL, "a list or dict as the key of a dict" },
    { "{{ {(1, 2): 'a'}[(1, 2)] }} {{ {'a': none}['b'] is defined }}", "{}", "a False" },
    { "{{ [1, 2]|length }} {{ range(5)|length }} {{ {'a': 1}.keys()|length }} {{ zz|length }}",
      "{}", "2 5 1 0" },
    { "{% for x in 'abc' %}{{ loop|length }}{% endfor %}", "{}", "333" },
    { "{{ 1|length }}", "{}", NULL },
    { "{{ {([],): 1} }}", "{}", NULL },
};

static void test_keys_and_lengths_are_those_of_python(void **state)
{
    (void)state;
    render_expect(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_and_lengths_are_those_of_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
