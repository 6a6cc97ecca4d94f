/* Jinja: order; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ [3, 1, 2]|sort }} {{ ['b', 'A', 'c']|sort }} {{ ['b', 'A', "
      "'c']|sort(case_sensitive=true) }} {{ [3, 1]|sort(reverse=true) }} {{ [true, 0, 1.5]|sort }} "
      "{{ [[2, 1], [1, 2]]|sort }}",
      NULL, "[1, 2, 3] ['A', 'b', 'c'] ['A', 'b', 'c'] [3, 1] [0, True, 1.5] [[1, 2], [2, 1]]" },
    { "{{ ['a', 1]|sort }}", NULL, NULL },
    { "{{ [none, 1]|sort }}", NULL, NULL },
    { "{{ [{}, {}]|sort }}", NULL, "[{}, {}]" },
    { "{{ {'b': 1, 'A': 3, 'c': 2}|dictsort }} {{ {'b': 1, 'A': 3}|dictsort(true) }} {{ {'b': 1, "
      "'A': 3}|dictsort(by='value') }} {{ {'b': 1, 'A': 3}|dictsort(reverse=true) }}",
      NULL,
      "[('A', 3), ('b', 1), ('c', 2)] [('A', 3), ('b', 1)] [('b', 1), ('A', 3)] [('b', 1), ('A', "
      "3)]" },
    { "{{ {'b': 1}|dictsort(by='x') }}", NULL, NULL },
    { "{{ [3, 1, 2]|min }} {{ ['b', 'A']|max }} {{ ['b', 'A']|min(case_sensitive=true) }} {{ "
      "[]|min is defined }} {{ l[:2]|max(attribute='n') }}",
      NULL, "1 b A False {'role': 'tool', 'n': 2}" },
    { "{{ [{'k': 1, 'v': 'x'}, {'k': 0, 'v': 'y'}, {'k': 1, 'v': "
      "'z'}]|sort(attribute='k')|map(attribute='v')|join }}",
      NULL, "yxz" },
    { "{{ 'bca'|sort }} {{ d|sort }}", NULL, "['a', 'b', 'c'] ['A', 'b', 'c']" },
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
