/* Chat templates against Python's jinja2 (tests/golden/data/templates.json, made by
 * tests/golden), and the bounds that no template passes. */
#include "test.h"
#include "text/chat.h"
#include "base/mem.h"
#include <jansson.h>

#define GOLDEN SOURCE_ROOT "/tests/golden/data/templates.json"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* Renders one case; *fault holds the error. */
static enum status render_case(const json_t *c, const char *source, struct str *out,
                               struct fault *fault)
{
    const json_t *list = json_object_get(c, "messages");
    size_t n = json_array_size(list);
    struct chat_message *messages = mem_take((n + 1) * sizeof(*messages));
    for (size_t i = 0; i < n; i++) {
        const json_t *message = json_array_get(list, i);
        messages[i].role = json_string_value(json_object_get(message, "role"));
        messages[i].content = json_string_value(json_object_get(message, "content"));
        messages[i].name = json_string_value(json_object_get(message, "name"));
    }
    char *kwargs = json_dumps(json_object_get(c, "kwargs"), 0);
    struct chat_options options = {
        .messages = messages,
        .n_messages = (int)n,
        .add_generation_prompt = json_is_true(json_object_get(c, "add_generation_prompt")),
        .bos_token = text_of(c, "bos_token"),
        .eos_token = text_of(c, "eos_token"),
        .kwargs_json = kwargs,
    };
    struct chat_template *t = NULL;
    enum status status = chat_template_open(&t, source, fault);
    if (status == STATUS_OK)
        status = chat_template_render(t, &options, out, fault);
    chat_template_close(t);
    free(kwargs);
    mem_give(messages);
    return status;
}

static bool case_passes(const json_t *templates, const json_t *c)
{
    struct str out;
    str_init(&out);
    struct fault fault = { "" };
    const char *source = json_string_value(json_object_get(templates, text_of(c, "template")));
    const char *expected = json_string_value(json_object_get(c, "expected"));
    enum status status = render_case(c, source, &out, &fault);
    bool passes = expected == NULL
                      ? status != STATUS_OK && fault.text[0] != '\0' &&
                            strstr(fault.text, text_of(c, "error")) != NULL
                      : status == STATUS_OK && view_equal_text(view_of(out.at, out.n), expected);
    if (!passes)
        printf("%s: %s\n got      <%s>\n expected <%s%s>\n", text_of(c, "name"), fault.text,
               out.at != NULL ? out.at : "",
               expected != NULL ? expected : "error: ", text_of(c, "error"));
    str_free(&out);
    return passes;
}

static void renders_as_jinja2(void **state)
{
    (void)state;
    json_error_t error;
    json_t *cases = json_load_file(GOLDEN, 0, &error);
    assert_non_null(cases);
    const json_t *templates = json_object_get(json_array_get(cases, 0), "templates");
    size_t n_failed = 0;
    for (size_t i = 1; i < json_array_size(cases); i++) /* 0: the templates by name */
        n_failed += !case_passes(templates, json_array_get(cases, i));
    printf("%zu cases\n", json_array_size(cases));
    assert_true(json_array_size(cases) > 100);
    assert_int_equal(n_failed, 0);
    json_decref(cases);
}

static enum status render(const char *source, const char *kwargs, struct fault *fault)
{
    struct chat_template *t = NULL;
    enum status status = chat_template_open(&t, source, fault);
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
static void bounds_hold(void **state)
{
    (void)state;
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
    };
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
        { "{{ x", "a tag has no end", STATUS_BAD_INPUT },
        { "{% if x %}", "is missing", STATUS_BAD_INPUT },
        { "{% endif %}", "'endif'", STATUS_UNSUPPORTED },
        { "{% include 'x' %}", "'include'", STATUS_UNSUPPORTED },
        { "{{ x|nope }}", "no filter named 'nope'", STATUS_UNSUPPORTED },
        { "{{ x is nope }}", "no test named 'nope'", STATUS_UNSUPPORTED },
        { "{{ strftime_now('%Y') }}", "chat_template_kwargs", STATUS_UNSUPPORTED },
        { "{{ 1 // 0 }}", "division by zero", STATUS_BAD_INPUT },
        { "{{ 'a' + 1 }}", "can only concatenate", STATUS_BAD_INPUT },
        { "{{ {}.pop('a') }}", "can't be changed", STATUS_BAD_INPUT },
        { "{{ 9223372036854775807 + 1 }}", "too large", STATUS_UNSUPPORTED },
        { "{# open", "a comment has no end", STATUS_BAD_INPUT },
        { "{{ 'open }}", "a string has no end", STATUS_BAD_INPUT },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { "" };
        assert_int_equal(render(rows[i].source, NULL, &fault), rows[i].status);
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

/* A macro looks through all that the client bound before it finds a name. */
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
    assert_int_equal(chat_template_open(&t, "abc{{ 1 // 0 }}", &fault), STATUS_OK);
    struct str out;
    str_init(&out);
    str_add_text(&out, "before");
    struct chat_options options = { 0 };
    assert_int_equal(chat_template_render(t, &options, &out, &fault), STATUS_BAD_INPUT);
    assert_string_equal(out.at, "before");
    str_free(&out);
    chat_template_close(t);
}

/* What a message carries beyond role and content reaches the template as it came. */
static void further_fields_reach_the_template(void **state)
{
    (void)state;
    struct chat_template *t;
    struct fault fault;
    struct str out;
    str_init(&out);
    assert_int_equal(chat_template_open(&t,
                                        "{% for m in messages %}{% if m.tool_calls %}"
                                        "{% for c in m.tool_calls %}{{ c.function.name }}:{{ "
                                        "c.function.arguments.x }};{% endfor %}{% elif "
                                        "m.tool_call_id is defined %}{{ m.tool_call_id }}={{ "
                                        "m.content }}{% endif %}{% endfor %}",
                                        &fault),
                     STATUS_OK);
    const struct chat_message messages[] = {
        { "user", "hello", NULL, NULL },
        { "assistant", "", NULL,
          "{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\":3}}}]}" },
        { "tool", "nine", "f", "{\"tool_call_id\":\"c-1\"}" },
    };
    struct chat_options options = { .messages = messages, .n_messages = 3 };
    assert_int_equal(chat_template_render(t, &options, &out, &fault), STATUS_OK);
    assert_string_equal(out.at, "f:3;c-1=nine");
    str_free(&out);
    chat_template_close(t);
}

/* The sentence names both places where a client may nest values. */
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
    assert_int_equal(chat_template_open(&t, "x", &fault), STATUS_OK);
    const struct chat_message message = { "assistant", "", NULL, more.at };
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
        cmocka_unit_test(further_fields_reach_the_template),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
