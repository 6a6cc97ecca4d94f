/* Tools for templates that show them, and for templates that show none. */
#include "template/chat.h"
#include "test.h"

#define EACH "{% for m in messages %}[{{ m.role }}: {{ m.content }}]{% endfor %}"

static const char tools[] = "[{\"type\":\"function\",\"function\":{\"name\":\"look\"}}]";
static const struct chat_message talk[] = {
    { .role = "system", .content = "Be kind." },
    { .role = "user", .content = "Weather?" },
    { .role = "assistant",
      .is_null = true,
      .more_json = "{\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":"
                   "\"look\",\"arguments\":\"{\\\"day\\\": 1}\"}}]}" },
    { .role = "tool", .content = "Rain.", .more_json = "{\"tool_call_id\":\"a\"}" },
    { .role = "user", .content = "And?" },
};

static void assert_renders(const char *text, const char *expected)
{
    const struct chat_source source = { .text = text };
    const struct chat_options options = { .messages = talk,
                                          .n_messages = COUNT_OF(talk),
                                          .tools_json = tools };
    struct chat_template *t;
    struct fault fault = { "" };
    struct str out;
    str_init(&out);
    assert_int_equal(chat_template_open(&t, &source, &fault), STATUS_OK);
    enum status status = chat_template_render(t, &options, &out, &fault);
    assert_string_equal(status == STATUS_OK ? out.at : fault.text, expected);
    str_free(&out);
    chat_template_close(t);
}

static void a_template_with_tools_gets_them(void **state)
{
    (void)state;
    assert_renders("{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}"
                   "{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
                   "{{ c.function.name }}{{ c.function.arguments }}{% endfor %};{% endfor %}",
                   "<look>Be kind.;Weather?;look{\"day\": 1};Rain.;And?;");
}

#define OFFER                                                                                      \
    "You may call these functions. To call some, answer with a JSON array alone: [{\"name\": "     \
    "NAME, \"arguments\": {...}}, ...]. Otherwise answer as usual.\n{\"name\": \"look\"}"
#define REST                                                                                       \
    "[assistant: [{\"name\": \"look\", \"arguments\": {\"day\": 1}}]][user: Result of the call "   \
    "a:\nRain.\n\nAnd?]"

static void a_template_without_tools_gets_texts(void **state)
{
    (void)state;
    assert_renders(EACH, "[system: " OFFER "\n\nBe kind.][user: Weather?]" REST);
    assert_renders("{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}"
                   "{% endif %}" EACH,
                   "[user: " OFFER "\n\nBe kind.\n\nWeather?]" REST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_with_tools_gets_them),
        cmocka_unit_test(a_template_without_tools_gets_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
