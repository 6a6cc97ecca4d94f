/* Chat templates against Python's jinja2 (tests/golden/data/templates.json, made by tests/golden),
 * and the bounds that no template exceeds. */
#include "base/mem.h"
#include "template/chat.h"
#include "test.h"
#include <jansson.h>

#define GOLDEN SOURCE_ROOT "/tests/golden/data/templates.json"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* Makes one message of the golden file; the caller uses free() on *more. */
static struct chat_message message_of(const json_t *m, const char **parts, char **more)
{
    const json_t *content = json_object_get(m, "content");
    struct chat_message message = { .role = json_string_value(json_object_get(m, "role")),
                                    .content = json_string_value(content),
                                    .name = json_string_value(json_object_get(m, "name")),
                                    .is_null = json_is_null(content) };
    json_t *rest = json_copy((json_t *)(uintptr_t)m);
    (void)json_object_del(rest, "role");
    (void)json_object_del(rest, "content");
    (void)json_object_del(rest, "name");
    message.more_json = *more = json_object_size(rest) > 0 ? json_dumps(rest, 0) : NULL;
    json_decref(rest);
    if (json_is_array(content)) {
        message.parts = parts;
        message.n_parts = (int32_t)json_array_size(content);
        assert_true(message.n_parts <= 1);
        parts[0] = text_of(json_array_get(content, 0), "text");
        message.content = parts[0];
    }
    return message;
}

/* Renders one case. *fault holds the error. */
static enum status render_case(const json_t *c, const char *source, const char *now,
                               struct str *out, struct fault *fault)
{
    const json_t *list = json_object_get(c, "messages");
    size_t n = json_array_size(list);
    struct chat_message *messages = mem_take((n + 1) * sizeof(*messages));
    const char **parts = mem_take((n + 1) * sizeof(*parts));
    char **more = mem_take((n + 1) * sizeof(*more));
    for (size_t i = 0; i < n; i++)
        messages[i] = message_of(json_array_get(list, i), &parts[i], &more[i]);
    char *kwargs = json_dumps(json_object_get(c, "kwargs"), 0);
    char *specials = json_dumps(json_object_get(c, "specials"), 0);
    struct chat_options options = {
        .messages = messages,
        .n_messages = (int)n,
        .add_generation_prompt = json_is_true(json_object_get(c, "add_generation_prompt")),
        .kwargs_json = kwargs,
    };
    struct chat_source given = { source, specials, now };
    struct chat_template *t = NULL;
    enum status status = chat_template_open(&t, &given, fault);
    if (status == STATUS_OK)
        status = chat_template_render(t, &options, out, fault);
    chat_template_close(t);
    free(kwargs);
    free(specials);
    for (size_t i = 0; i < n; i++)
        free(more[i]);
    mem_give(more);
    mem_give(parts);
    mem_give(messages);
    return status;
}

/* Returns whether the result is the case's: a text, an error with these words, or a message's
 * loss. */
static bool is_as_expected(const json_t *c, enum status status, const struct str *out,
                           const struct fault *fault)
{
    const char *expected = json_string_value(json_object_get(c, "expected"));
    const json_t *lost = json_object_get(c, "lost");
    char words[64];
    snprintf(words, sizeof(words), "does not show the text of messages[%d]",
             (int)json_integer_value(lost));
    if (expected != NULL)
        return status == STATUS_OK && view_equal_text(view_of(out->at, out->n), expected);
    return status == STATUS_BAD_INPUT && out->n == 0 && fault->text[0] != '\0' &&
           strstr(fault->text, lost != NULL ? words : text_of(c, "error")) != NULL;
}

static bool case_passes(const json_t *first, const json_t *c)
{
    struct str out;
    str_init(&out);
    struct fault fault = { "" };
    const char *source = text_of(json_object_get(first, "templates"), text_of(c, "template"));
    enum status status = render_case(c, source, text_of(first, "now"), &out, &fault);
    bool passes = is_as_expected(c, status, &out, &fault);
    if (!passes)
        printf("%s: %s\n got      <%s>\n expected <%s> error <%s>\n", text_of(c, "name"),
               fault.text, out.at != NULL ? out.at : "", text_of(c, "expected"),
               text_of(c, "error"));
    str_free(&out);
    return passes;
}

static void renders_as_jinja2(void **state)
{
    (void)state;
    json_error_t error;
    json_t *cases = json_load_file(GOLDEN, 0, &error);
    assert_non_null(cases);
    size_t n_failed = 0;
    for (size_t i = 1; i < json_array_size(cases); i++) /* 0 has the templates by name */
        n_failed += !case_passes(json_array_get(cases, 0), json_array_get(cases, i));
    printf("%zu cases\n", json_array_size(cases));
    assert_true(json_array_size(cases) > 100);
    assert_int_equal(n_failed, 0);
    json_decref(cases);
}

static enum status render(const char *source, const char *kwargs, struct fault *fault)
{
    struct chat_template *t = NULL;
    const struct chat_source given = { .text = source };
    enum status status = chat_template_open(&t, &given, fault);
    struct str out;
    str_init(&out);
    struct chat_options options = { .kwargs_json = kwargs };
    if (status == STATUS_OK)
        status = chat_template_render(t, &options, &out, fault);
    str_free(&out);
    chat_template_close(t);
    return status;
}

/* Each would run for ever, or take all memory. */
static const char *const hostile[] = {
    "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(100) %}"
    "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = ns.l + ns.l %}"
    "{% endfor %}",
    "{{ 'x' * 99999999999 }}",
    "{{ [1] * 99999999999 }}",
    "{{ 'ab' * 30000000 * 1000 }}",
    "{{ range(99999999999) }}",
    "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
    "{% macro m() %}{{ m() ~ m() }}{% endmacro %}{{ m() }}",
    "{{ 'x' * 20000000 }}{{ 'x' * 20000000 }}{{ 'x' * 20000000 }}",
    "{{ ('ab' * 1000000).replace('a', 'x' * 1000000) }}",
    "{{ ('ab' * 100000).replace('', 'x' * 1000000) }}",
    "{{ range(90000)|map('string')|join('x' * 10000) }}",
    "{{ range(1000)|join('\\n')|indent('y' * 1000000, true) }}",
    "{{ {'a': [1] * 1000}|tojson(indent=100000000) }}",
    "{% set ns = namespace(d={}) %}{% for i in range(2000) %}{% set ns.d = {'k': ns.d} %}"
    "{% endfor %}{{ ns.d }}",
    "{% set ns = namespace(g=[1]) %}{% for i in range(9000) %}{% set ns.g = ns.g|map('string') "
    "%}"
    "{% endfor %}{{ ns.g|list }}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% macro k() %}{% call m() %}{{ k() }}"
    "{% endcall %}{% endmacro %}{{ k() }}",
    "{{ [1]|batch(1000000000, 'x')|list }}",
    "{{ [1]|slice(1000000000)|list|length }}",
    "{% for i in range(9000) %}{{ range(9000)|batch(1)|list|length }}{% endfor %}",
    "{% for i in range(9000) %}{{ range(9000)|map('string')|groupby('0')|length }}{% endfor %}",
    "{% for i in range(9000) %}{{ range(9000)|sort(reverse=true)|first }}{% endfor %}",
    "{% for i in range(9000) %}{{ range(9000)|map('string')|unique|list|length }}{% endfor %}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%.999999999f' % 1.5 }}",
    "{{ '%*d' % (999999999, 1) }}",
    "{{ '{:999999999}'.format(1) }}",
    "{{ '{:.999999999f}'.format(1.5) }}",
    "{{ '{:{}}'.format(1, 999999999) }}",
    "{{ 'a'.center(999999999) }}",
    "{{ 'a'.zfill(999999999) }}",
    "{{ 'a'|center(999999999) }}",
    "{{ ('a\tb' * 1000).expandtabs(999999) }}",
    "{{ ('a\n' * 1000)|indent(99999999) }}",
    "{{ [[]]|tojson(indent=999999999) }}",
    "{{ ('a ' * 100000)|wordwrap(1, wrapstring='x' * 10000) }}",
    "{{ ('x' * 60000000)|list|length }}",
    "{{ ('x' * 30000000)|upper ~ ('x' * 30000000)|title }}",
    "{{ ([[1] * 1000] * 9000)|sum(start=[]) }}",
    "{{ strftime_now('%c' * 100000) }}",
    "{% set ns = namespace(d={}) %}{% for i in range(90000) %}{% set ns.d = dict(ns.d, "
    "**{i|string: i}) "
    "%}{% endfor %}",
    "{% for i in range(90000) %}{{ 'y' in 'x' * 100000 }}{% endfor %}",
    "{% for i in range(90000) %}{{ ('x' * 100000).count('y') }}{% endfor %}",
    "{% for i in range(90000) %}{{ range(90000)|list == range(90000)|list }}{% endfor %}",
    "{% for i in range(90000) %}{{ ('[' * 50 ~ ']' * 50)|from_json }}{% endfor %}",
    "{% for i in range(90000) %}{{ ('a' * 100000)[::-1] }}{% endfor %}",
    "{% for i in range(90000) %}{{ strftime_now('%c' * 100) }}{% endfor %}",
    "{% set ns = namespace(l=[]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% "
    "endfor %}"
    "{{ ns.l }}",
    "{% set ns = namespace(l=[]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% "
    "endfor %}"
    "{{ ns.l == ns.l + [] or ns.l|tojson }}",
    "{% set ns = namespace(l=()) %}{% for i in range(60) %}{% set ns.l = (ns.l, ns.l) %}{% "
    "endfor %}"
    "{{ {ns.l: 1} }}",
};

static void bounds_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        struct fault fault = { "" };
        enum status status = render(hostile[i], NULL, &fault);
        if (status != STATUS_TOO_LARGE)
            fail_msg("%s: status %d, %s", hostile[i], status, fault.text);
        assert_true(fault.text[0] != '\0');
    }
}

static void deep_sources_are_refused(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "(", ")" }, { "[", "]" },   { "not ", "" },         { "-", "" },   { "a[", "]" },
        { "1+", "" }, { "{1:", "}" }, { "a if ", " else b" }, { "f(", ")" },
    };
    for (size_t k = 0; k < COUNT_OF(pairs); k++) {
        struct str source;
        str_init(&source);
        str_add_text(&source, "{{ ");
        for (int i = 0; i < 20000; i++)
            str_add_text(&source, pairs[k][0]);
        str_add_text(&source, "1");
        for (int i = 0; i < 20000; i++)
            str_add_text(&source, pairs[k][1]);
        str_add_text(&source, " }}");
        struct fault fault = { "" };
        assert_int_equal(render(source.at, NULL, &fault), STATUS_TOO_LARGE);
        str_free(&source);
    }
}

static void faults_are_sentences(void **state)
{
    (void)state;
    static const struct {
        const char *source, *says;
        enum status status;
    } rows[] = {
        { "{{ raise_exception('No ' ~ 'way') }}", "No way", STATUS_BAD_INPUT },
        { "a\n{{ x.y }}", "line 2: 'x' is undefined", STATUS_BAD_INPUT },
        { "{{ x", "the end of the tag is expected", STATUS_BAD_INPUT },
        { "{% if x %}", "line 1: ", STATUS_BAD_INPUT },
        { "\n{% endif %}", "line 2: ", STATUS_BAD_INPUT },
        { "{% include 'x' %}", "'include'", STATUS_UNSUPPORTED },
        { "{% autoescape true %}x{% endautoescape %}", "'autoescape'", STATUS_UNSUPPORTED },
        { "{{ x|nope }}", "no filter named 'nope'", STATUS_BAD_INPUT },
        { "\n\n{{ x|pprint }}", "line 3: the filter 'pprint' is not supported",
          STATUS_UNSUPPORTED },
        { "{{ x is nope }}", "no test named 'nope'", STATUS_BAD_INPUT },
        { "{{ lipsum() }}", "'lipsum'", STATUS_UNSUPPORTED },
        { "{{ 'a'.encode() }}", "'encode'", STATUS_UNSUPPORTED },
        { "{{ strftime_now('%s') }}", "strftime_now", STATUS_UNSUPPORTED },
        { "{{ 1 // 0 }}", "division by zero", STATUS_BAD_INPUT },
        { "{{ 'a' + 1 }}", "can only concatenate", STATUS_BAD_INPUT },
        { "{{ {}.pop('a') }}", "", STATUS_BAD_INPUT },
        { "{{ 9223372036854775807 + 1 }}", "more than 64 bits", STATUS_UNSUPPORTED },
        { "{# open", "a comment has no end", STATUS_BAD_INPUT },
        { "{{ 'open }}", "", STATUS_BAD_INPUT },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { "" };
        enum status status = render(rows[i].source, NULL, &fault);
        if (status != rows[i].status)
            fail_msg("%s: status %d, %s", rows[i].source, status, fault.text);
        if (strstr(fault.text, rows[i].says) == NULL)
            fail_msg("%s says %s", rows[i].source, fault.text);
    }
}

static void kwargs_must_be_an_object(void **state)
{
    (void)state;
    struct fault fault;
    assert_int_equal(render("x", "[1]", &fault), STATUS_BAD_INPUT);
    assert_int_equal(render("x", "{", &fault), STATUS_BAD_INPUT);
    assert_int_equal(render("{{ a.b[0] }}", "{\"a\": {\"b\": [1.5]}}", &fault), STATUS_OK);
}

/* A macro searches all of the client's variables before it finds a name. */
static void many_kwargs_are_charged(void **state)
{
    (void)state;
    struct fault fault = { "" };
    struct str kwargs;
    str_init(&kwargs);
    str_add_text(&kwargs, "{");
    for (int i = 0; i < 20000; i++)
        str_printf(&kwargs, "%s\"k%d\":1", i > 0 ? "," : "", i);
    str_add_text(&kwargs, "}");
    assert_int_equal(render("{% macro m() %}{% for i in range(100000) %}{{ bos_token }}"
                            "{% endfor %}{% endmacro %}{{ m() }}",
                            kwargs.at, &fault),
                     STATUS_TOO_LARGE);
    str_free(&kwargs);
}

static void a_failure_leaves_the_output(void **state)
{
    (void)state;
    struct chat_template *t;
    struct fault fault;
    const struct chat_source source = { .text = "abc{{ 1 // 0 }}" };
    assert_int_equal(chat_template_open(&t, &source, &fault), STATUS_OK);
    struct str out;
    str_init(&out);
    str_add_text(&out, "before");
    struct chat_options options = { 0 };
    assert_int_equal(chat_template_render(t, &options, &out, &fault), STATUS_BAD_INPUT);
    assert_string_equal(out.at, "before");
    str_free(&out);
    chat_template_close(t);
}

/* The sentence names both places in which a client may nest values. */
static void too_deep_a_message_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 110 };
    struct chat_template *t;
    struct fault fault;
    struct str more, out;
    str_init(&more);
    str_init(&out);
    str_add_text(&more, "{\"tool_calls\":");
    for (int i = 0; i < DEPTH; i++)
        str_add_text(&more, "[");
    for (int i = 0; i < DEPTH; i++)
        str_add_text(&more, "]");
    str_add_text(&more, "}");
    const struct chat_source source = { .text = "x" };
    assert_int_equal(chat_template_open(&t, &source, &fault), STATUS_OK);
    const struct chat_message message = { .role = "assistant",
                                          .content = "",
                                          .more_json = more.at };
    struct chat_options options = { .messages = &message, .n_messages = 1 };
    assert_int_equal(chat_template_render(t, &options, &out, &fault), STATUS_TOO_LARGE);
    assert_non_null(strstr(fault.text, "a message or chat_template_kwargs nests deeper than 100"));
    str_free(&more);
    str_free(&out);
    chat_template_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renders_as_jinja2),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(deep_sources_are_refused),
        cmocka_unit_test(faults_are_sentences),
        cmocka_unit_test(kwargs_must_be_an_object),
        cmocka_unit_test(many_kwargs_are_charged),
        cmocka_unit_test(too_deep_a_message_is_refused),
        cmocka_unit_test(a_failure_leaves_the_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
