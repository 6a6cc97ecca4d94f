/* A rendering that loses the text of a message is an error. */
#include "base/mem.h"
#include "template/chat.h"
#include "test.h"

#define EACH(body) "{% for m in messages %}" body "{% endfor %}"

static const char *const two_parts[] = { "one", "two" };

struct row {
    const char *text;
    int lost; /* -1: no message is lost */
};

static enum status render(const char *text, const struct chat_message *messages, int n,
                          struct fault *fault)
{
    const struct chat_source source = { .text = text };
    const struct chat_options options = { .messages = messages, .n_messages = n };
    struct chat_template *t;
    struct str out;
    str_init(&out);
    assert_int_equal(chat_template_open(&t, &source, fault), STATUS_OK);
    enum status status = chat_template_render(t, &options, &out, fault);
    assert_true(status == STATUS_OK || out.n == 0);
    str_free(&out);
    chat_template_close(t);
    return status;
}

static void assert_rows(const struct row *rows, size_t n_rows, const struct chat_message *messages,
                        int n)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct fault fault = { "" };
        enum status status = render(rows[i].text, messages, n, &fault);
        char expected[128] = "";
        if (rows[i].lost >= 0)
            snprintf(expected, sizeof(expected),
                     "the model's chat template does not show the text of messages[%d] (role %s)",
                     rows[i].lost, messages[rows[i].lost].role);
        assert_string_equal(fault.text, expected);
        assert_int_equal(status, rows[i].lost >= 0 ? STATUS_BAD_INPUT : STATUS_OK);
    }
}

static void a_lost_text_is_an_error(void **state)
{
    (void)state;
    static const struct chat_message messages[] = {
        { .role = "system", .content = " Be <kind>. " },
        { .role = "user", .content = "Hi \"you\"" },
        { .role = "assistant", .content = "<think>well</think>Yes" },
        { .role = "user", .content = "" },
        { .role = "tool", .content = "9" },
    };
    static const struct row rows[] = {
        { EACH("{{ m.content }}"), -1 },
        { EACH("{{ m.content|trim }};"), -1 },
        { EACH("{{ m.content|tojson }}"), -1 }, /* written in another way */
        { EACH("{{ m.content|upper }}"), -1 },
        { EACH("{{ m.content.split('</think>')[-1] }}"), -1 }, /* thinking is left out */
        { EACH("{% if m.role != 'system' %}{{ m.content }}{% endif %}"), 0 },
        { EACH("{% if m.role != 'user' %}{{ m.content }}{% endif %}"), 1 },
        { EACH("{% if m.role != 'tool' %}{{ m.content }}{% endif %}"), 4 },
        { EACH("{{ m.content[:4] }}"), 0 },
        { EACH("{% if loop.last %}{{ m.content }}{% endif %}"), 0 },
        { "{{ messages|length }}", 0 },
    };
    assert_rows(rows, COUNT_OF(rows), messages, 5);
}

static void each_part_is_looked_for(void **state)
{
    (void)state;
    static const struct chat_message messages[] = {
        { .role = "user", .content = "onetwo", .parts = two_parts, .n_parts = 2 },
    };
    static const struct row rows[] = {
        { EACH("{% for p in m.content %}{{ p.text }}, {% endfor %}"), -1 },
        { EACH("{{ m.content[0].text }}"), 0 },
        { EACH("{{ m.content[-1].text }}"), 0 },
        { EACH("{{ m.content }}"), -1 },
    };
    assert_rows(rows, COUNT_OF(rows), messages, 1);
}

/* The time to search for texts is bounded, even in a long conversation. */
static void many_texts_are_found_soon(void **state)
{
    (void)state;
    enum { N = 4000 };
    struct chat_message *messages = mem_take(sizeof(*messages) * N);
    for (int i = 0; i < N; i++) /* no text occurs before that of the last message */
        messages[i] = (struct chat_message){ .role = "user", .content = i + 1 < N ? "b" : "a" };
    struct fault fault = { "" };
    assert_int_equal(render(EACH("{{ m.content }}"), messages, N, &fault), STATUS_OK);
    assert_int_equal(render(EACH("{% if loop.index != 3000 %}{{ m.content|upper }}{% endif %}"),
                            messages, N, &fault),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "messages[2999]"));
    mem_give(messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_text_is_an_error),
        cmocka_unit_test(each_part_is_looked_for),
        cmocka_unit_test(many_texts_are_found_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
