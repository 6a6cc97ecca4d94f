/* Jinja: equality, order and hashes; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ 1 == 1.0 == true }} {{ 0.1 + 0.2 == 0.3 }} {{ 9007199254740993 == 9007199254740992.0 }} "
      "{{ 9007199254740993 > 9007199254740992.0 }}",
      NULL, "True False False True" },
    { "{{ [1, [2, {'a': 1}]] == [1, [2, {'a': 1.0}]] }} {{ (1, 2) == [1, 2] }} {{ {'a': 1, 'b': 2} "
      "== {'b': 2, 'a': 1} }} {{ 'a' == 1 }} {{ none == zz }}",
      NULL, "True False True False False" },
    { "{{ [1, 2] < [1, 2, 0] }} {{ (1, 'a') < (2, 3) }} {{ [] < [[]] }} {{ 'a' < 'B' }} {{ "
      "'\303\251' > 'z' }} {{ true < 2 }}",
      NULL, "True True True False True True" },
    { "{{ [1, 'a'] < [1, 2] }}", NULL, NULL },
    { "{{ {} < {} }}", NULL, NULL },
    { "{{ none <= none }}", NULL, NULL },
    { "{{ zz < 1 }}", NULL, NULL },
    { "{{ 1 < 2 < 3 > 0 != 5 }} {{ 1 < 2 > 2 }} {{ 1 < 0 < zz.y }}", NULL, "True False False" },
    { "{{ 1 in [1.0] }} {{ [1] in [[1]] }} {{ 1.0 in {1: 2} }} {{ none in [none] }} {{ 'a' in "
      "{'a': 1}.keys() }} {{ 2 in {'a': 2}.values() }} {{ ('a', 2) in {'a': 2}.items() }}",
      NULL, "True True True True True True True" },
    { "{{ [] in {} }}", NULL, NULL },
    { "{{ {1: 'a', 1.0: 'b', true: 'c'} }} {{ {(1, 2): 'x'}[(1, 2.0)] }}", NULL, "{1: 'c'} x" },
    { "{{ range(3) == range(0, 3) }} {{ range(0) == range(5, 5) }} {{ {'a': 1}.keys() == {'a': "
      "2}.keys() }}",
      NULL, NULL, "a comparison of two objects of type dict_keys" },
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
