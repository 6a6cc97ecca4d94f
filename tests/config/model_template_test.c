/* The chat template of a model, and the message about an unusable one. */
#include "base/base.h"
#include "base/file.h"
#include "config/model_template.h"
#include "test.h"

static char path[] = "/tmp/model_template_test.XXXXXX";

static int make_file(void **state)
{
    static const char text[] = "F:{{ messages[0].content }}";
    (void)state;
    int fd = mkstemp(path);
    return fd >= 0 && close(fd) == 0 && file_write(path, text, strlen(text), NULL) == STATUS_OK
               ? 0
               : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

#define SHOWN "{{ messages[0].content }}"

static const struct weights_template some[] = { { "default", "D:" SHOWN },
                                                { "rag", "R:" SHOWN },
                                                { "bad", "{% include 'x' %}" } };
static const struct weights_card none = { 0 };
static const struct weights_card own = { .chat_template = "D:" SHOWN,
                                         .n_templates = 3,
                                         .templates = some };
static const struct weights_card only_named = { .n_templates = 2, .templates = some + 1 };
static const struct weights_card bad = { .chat_template = "a\n{% include 'x' %}",
                                         .n_templates = 1,
                                         .templates = some + 2 };

struct row {
    const struct weights_card *card;
    const char *wanted, *fallback;
    const char *text;  /* of a chat; NULL: there is no template */
    const char *why;   /* why it cannot be used */
    const char *fault; /* of a setting */
};

static const struct row rows[] = {
    { &none, NULL, NULL, NULL, "", NULL },
    { &none, NULL, "chatml", "<|im_start|>user\nHi<|im_end|>\n", "", NULL },
    { &none, "T:" SHOWN, "chatml", "T:Hi", "", NULL },
    { &own, NULL, "chatml", "D:Hi", "", NULL },
    { &own, "rag", NULL, "R:Hi", "", NULL },
    { &own, "chatml", NULL, "<|im_start|>user\nHi<|im_end|>\n", "", NULL },
    { &own, path, NULL, "F:Hi", "", NULL },
    { &own, "bad", NULL, NULL, "", "chat_template: chat template, line 1: the tag 'include'" },
    { &own, "/no/such.jinja", NULL, NULL, "", "chat_template: /no/such.jinja" },
    { &own, "{{ x", NULL, NULL, "", "chat_template: chat template, line 1: " },
    { &none, NULL, "{{ x", NULL, "", "default_chat_template: chat template, line 1: " },
    { &only_named, NULL, NULL, NULL,
      "none of its templates (rag, bad) is the default; name one with chat_template", NULL },
    { &only_named, NULL, "chatml", NULL,
      "none of its templates (rag, bad) is the default; name one with chat_template", NULL },
    { &only_named, "rag", NULL, "R:Hi", "", NULL },
    { &bad, NULL, "chatml", NULL, "chat template, line 2: the tag 'include'", NULL },
    { &bad, "chatml", NULL, "<|im_start|>user\nHi<|im_end|>\n", "", NULL },
};

static void assert_renders(const struct chat_template *t, const char *expected)
{
    const struct chat_message message = { .role = "user", .content = "Hi" };
    const struct chat_options options = { .messages = &message, .n_messages = 1 };
    struct fault fault;
    struct str out;
    str_init(&out);
    assert_int_equal(chat_template_render(t, &options, &out, &fault), STATUS_OK);
    assert_string_equal(out.at, expected);
    str_free(&out);
}

static void a_setting_then_its_own_then_the_default(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct model_template_options options = { rows[i].wanted, rows[i].fallback, NULL };
        struct chat_template *t;
        struct fault why, fault = { "" };
        enum status status = model_template_open(&t, rows[i].card, &options, &why, &fault);
        assert_true((status == STATUS_OK) == (rows[i].fault == NULL));
        if (rows[i].fault != NULL)
            assert_non_null(strstr(fault.text, rows[i].fault));
        assert_true((t != NULL) == (rows[i].text != NULL));
        if (rows[i].text != NULL)
            assert_renders(t, rows[i].text);
        if (rows[i].why[0] == '\0')
            assert_string_equal(why.text, "");
        assert_non_null(strstr(why.text, rows[i].why));
        chat_template_close(t);
    }
}

static void the_clock_may_stand(void **state)
{
    (void)state;
    const struct model_template_options options = {
        "{{ strftime_now('%d %b %Y') }} {{ messages[0].content }}", NULL, "2026-01-31"
    };
    struct chat_template *t;
    struct fault why, fault;
    assert_int_equal(model_template_open(&t, &none, &options, &why, &fault), STATUS_OK);
    assert_renders(t, "31 Jan 2026 Hi");
    chat_template_close(t);
}

static void a_file_with_a_zero_byte_is_refused(void **state)
{
    (void)state;
    const struct model_template_options options = { path, NULL, NULL };
    struct chat_template *t;
    struct fault why, fault = { "" };
    assert_int_equal(file_write(path, "a\0b", 3, NULL), STATUS_OK);
    assert_int_equal(model_template_open(&t, &none, &options, &why, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "a zero byte"));
    assert_null(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_then_its_own_then_the_default),
        cmocka_unit_test(the_clock_may_stand),
        cmocka_unit_test(a_file_with_a_zero_byte_is_refused),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
