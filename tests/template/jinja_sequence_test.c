/* Jinja: filters on sequences; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const char kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {"
    "\"x\": null}]}, \"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251"
    "\303\237 \344\270\255\", \"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\""
    ", \"n\": 2}, {\"role\": \"user\"}]}";

static const struct render_case cases[] = {
    { "{{ a|first }} {{ a|last }} {{ e|first }}| {{ s|first }}", kwargs, "3 2 | H" },
    { "{{ a|sort }} {{ a|sort(reverse=true) }} {{ ['b', 'A', 'c']|sort }} {{ ['b', 'A', 'c'"
      "]|sort(case_sensitive=true) }}",
      kwargs, "[1, 2, 3] [3, 2, 1] ['A', 'b', 'c'] ['A', 'b', 'c']" },
    { "{{ l|sort(attribute='role')|map(attribute='role')|list }}", kwargs,
      "['tool', 'user', 'user']" },
    { "{{ a|reverse|list }} {{ 'abc'|reverse }}", kwargs, "[2, 1, 3] cba" },
    { "{{ [1, 2, 1, 'a', 'A']|unique|list }}", kwargs, "[1, 2, 'a']" },
    { "{{ a|join }} {{ a|join('-') }} {{ l|join(',', attribute='role') }} {{ [1, 'x', none]"
      "|join('|') }}",
      kwargs, "312 3-1-2 user,tool,user 1|x|None" },
    { "{{ a|min }} {{ a|max }} {{ a|sum }} {{ e|max }}| {{ l[:2]|sum('n') }} {{ a|sum(start"
      "=10) }}",
      kwargs, "1 3 6 | 3 16" },
    { "{{ l|map(attribute='role')|join(',') }} {{ l|map(attribute='n', default='?')|join(',"
      "') }} {{ ['a', 'b']|map('upper')|list }} {{ ['axb']|map('replace', 'x', 'y')|list }}",
      kwargs, "user,tool,user 1,2,? ['A', 'B'] ['ayb']" },
    { "{{ l|selectattr('role', 'equalto', 'user')|list|length }} {{ l|selectattr('n')|map(a"
      "ttribute='n')|list }} {{ l|rejectattr('role', 'in', ['tool'])|list|length }} {{ l|se"
      "lectattr('n', 'defined')|list|length }}",
      kwargs, "2 [1, 2] 2 2" },
    { "{{ a|select('odd')|list }} {{ a|reject('odd')|list }} {{ a|select('gt', 1)|list }} {"
      "{ [0, 1, none]|select|list }}",
      kwargs, "[3, 1] [2] [3, 2] [1]" },
    { "{{ d|items|list }} {{ d|dictsort }} {{ d|dictsort(true) }} {{ {'x': 2, 'y': 1}|dicts"
      "ort(by='value') }} {{ {'x': 2, 'y': 1}|dictsort(reverse=true) }}",
      kwargs,
      "[('b', 2), ('A', 1), ('c', [1, {'x': None}])] [('A', 1), ('b', 2), ('c', [1, {'x': N"
      "one}])] [('A', 1), ('b', 2), ('c', [1, {'x': None}])] [('y', 1), ('x', 2)] [('y', 1)"
      ", ('x', 2)]" },
    { "{{ 'abc'|list }} {{ d|list }} {{ (1, 2)|list }}", kwargs,
      "['a', 'b', 'c'] ['b', 'A', 'c'] [1, 2]" },
    { "{{ d.c|map(attribute='x')|list }}", kwargs, "[Undefined, None]" },
    { "{{ l|map(attribute='role')|first }}", kwargs, "user" },
    { "{{ 3|list }}", kwargs, NULL },
    { "{{ a|select('nope')|list }}", kwargs, NULL },
    { "{{ a|map('nope')|list }}", kwargs, NULL },
    { "{{ [3, 'a']|sort }}", kwargs, NULL },
    { "{{ zz|items|list }} {{ zz|list }} {{ zz|join }}|", kwargs, "[] [] |" },
    { "{{ d|attr('b') }}|{{ [[1, 2], [3, 4]]|map('last')|list }} {{ [[1, 2], [3, 4]]|map(at"
      "tribute=0)|list }}",
      kwargs, "|[2, 4] [1, 3]" },
    { "{{ [{'a': {'b': 2}}]|map(attribute='a.b')|list }}", kwargs, "[2]" },
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
