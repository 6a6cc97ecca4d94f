/* Messages as templates see them, and the variables around them. */
#include "base/base.h"
#include "template/chat.h"
#include "test.h"

static const char *const two_parts[] = { "a", "b" };

/* Compares the rendering, or the sentence. */
static void assert_renders(const char *text, const struct chat_message *message, const char *kwargs,
                           const char *expected)
{
    const struct chat_source source = { text,
                                        "{\"bos_token\":\"<s>\",\"pad_token\":\"<p>\","
                                        "\"additional_special_tokens\":[\"<x>\"]}",
                                        NULL };
    const struct chat_options options = { .messages = message,
                                          .n_messages = message != NULL,
                                          .add_generation_prompt = true,
                                          .kwargs_json = kwargs };
    struct chat_template *t;
    struct fault fault = { "" };
    struct str out;
    str_init(&out);
    assert_int_equal(chat_template_open(&t, &source, &fault), STATUS_OK);
    enum status status = chat_template_render(t, &options, &out, &fault);
    const char *found = status != STATUS_OK ? fault.text : out.at != NULL ? out.at : "";
    if (strstr(found, expected) == NULL || expected[0] == '\0')
        assert_string_equal(found, expected);
    str_free(&out);
    chat_template_close(t);
}

static void content_takes_the_form_that_a_template_takes(void **state)
{
    (void)state;
    static const char text[] = "{{ messages[0].content }}";
    static const char parts[] = "{% for p in messages[0].content %}[{{ p.type }} {{ p.text }}]"
                                "{% endfor %}";
    static const char either[] =
        "{% if messages[0].content is string %}{{ messages[0].content }}{% else %}"
        "{% for p in messages[0].content %}[{{ p.text }}]{% endfor %}{% endif %}";
    const struct chat_message plain = { .role = "user", .content = "ab" };
    const struct chat_message split = {
        .role = "user", .content = "ab", .parts = two_parts, .n_parts = 2
    };
    const struct chat_message empty = {
        .role = "user", .content = "", .parts = two_parts, .n_parts = 0
    };
    const struct {
        const char *text;
        const struct chat_message *message;
        const char *expected;
    } rows[] = {
        { text, &plain, "ab" },         { text, &split, "ab" },
        { parts, &plain, "[text ab]" }, { parts, &split, "[text a][text b]" },
        { either, &plain, "ab" },       { either, &split, "[a][b]" },
        { text, &empty, "" },           { parts, &empty, "" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_renders(rows[i].text, rows[i].message, NULL, rows[i].expected);
}

static void null_is_none_and_nothing_is_undefined(void **state)
{
    (void)state;
    static const char text[] =
        "{{ messages[0].content is defined }} {{ messages[0].content is none }} "
        "{{ messages[0].name is defined }}";
    const struct chat_message null = { .role = "user", .is_null = true };
    const struct chat_message nothing = { .role = "user", .name = "ann" };
    assert_renders(text, &null, NULL, "True True False");
    assert_renders(text, &nothing, NULL, "False False True");
}

static void further_fields_come_as_they_came(void **state)
{
    (void)state;
    static const char text[] = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or "
                               "[] %}{{ c.function.name }}:"
                               "{{ c.function.arguments.x }};{% endfor %}{{ m.tool_call_id }}{{ "
                               "m.odd|tojson }}{% endfor %}";
    const struct chat_message call = {
        .role = "assistant",
        .content = "t",
        .more_json = "{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\":3}}}],"
                     "\"tool_call_id\":\"c-1\",\"odd\":[1,{\"a\":null}]}"
    };
    assert_renders(text, &call, NULL, "tf:3;c-1[1, {\"a\": null}]");
}

/* Reasoning is in reasoning_content, as most templates read it, and in gpt-oss's thinking. */
static void reasoning_has_both_names(void **state)
{
    (void)state;
    static const char text[] =
        "{{ messages[0].content }}{{ messages[0].reasoning_content }},{{ messages[0].thinking }}";
    static const struct {
        const char *more, *expected;
    } rows[] = {
        { "{\"reasoning_content\":\"r\"}", "cr,r" },
        { "{\"reasoning\":\"r\"}", "cr,r" },
        { "{\"thinking\":\"r\"}", "cr,r" },
        { "{\"thinking\":\"t\",\"reasoning_content\":\"r\"}", "cr,t" },
        { "{\"x\":1}", "c," },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct chat_message message = { .role = "assistant",
                                              .content = "c",
                                              .more_json = rows[i].more };
        assert_renders(text, &message, NULL, rows[i].expected);
    }
}

#define CALLS(arguments)                                                                           \
    "{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":" arguments "}}]}"

static void arguments_become_objects_where_a_template_wants_them(void **state)
{
    (void)state;
    static const char wants[] = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or "
                                "[] %}{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}";
    static const char takes_text[] =
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
        "{{ c.function.arguments }}{% endfor %}{% endfor %}";
    static const struct {
        const char *text, *more, *expected;
    } rows[] = {
        { wants, CALLS("\"{\\\"a\\\": [1, 2.0]}\""), "t{\"a\": [1, 2.0]}" },
        { wants, CALLS("{\"a\":1}"), "t{\"a\": 1}" },
        { wants, CALLS("\"nonsense\""),
          "tool_calls[0].function.arguments is not a JSON object, and this model's template "
          "needs" },
        { wants, CALLS("\"[1]\""), "tool_calls[0].function.arguments is not a JSON object" },
        { takes_text, CALLS("\"{\\\"a\\\":  1}\""), "t{\"a\":  1}" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct chat_message message = { .role = "assistant",
                                              .content = "t",
                                              .more_json = rows[i].more };
        assert_renders(rows[i].text, &message, NULL, rows[i].expected);
    }
}

static void variables_stand_around_the_messages(void **state)
{
    (void)state;
    static const char text[] =
        "{{ bos_token }}{{ pad_token }}{{ eos_token is defined }}{{ additional_special_tokens }}"
        "{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ x }}";
    assert_renders(text, NULL, NULL, "<s><p>False['<x>']NoneNoneTrue");
    assert_renders(text, NULL, "{\"x\":[1.5],\"tools\":[],\"bos_token\":\"B\"}",
                   "B<p>False['<x>'][]NoneTrue[1.5]");
    assert_renders(text, NULL, "{\"messages\":[]}",
                   "chat_template_kwargs may not replace the messages");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_takes_the_form_that_a_template_takes),
        cmocka_unit_test(null_is_none_and_nothing_is_undefined),
        cmocka_unit_test(further_fields_come_as_they_came),
        cmocka_unit_test(reasoning_has_both_names),
        cmocka_unit_test(arguments_become_objects_where_a_template_wants_them),
        cmocka_unit_test(variables_stand_around_the_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
