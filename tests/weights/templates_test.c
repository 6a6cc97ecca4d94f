/* Lists of chat templates: the text that a name keeps, refusals, and special tokens as JSON. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/templates.h"

static enum status add(struct weights_templates *templates, const char *name, const char *text,
                       struct fault *fault)
{
    return weights_templates_add(templates, view_text(name), view_text(text), "x", fault);
}

static void keeps_the_first_of_a_name(void **state)
{
    (void)state;
    struct pile pile;
    struct weights_templates templates;
    struct weights_card card = { 0 };
    struct fault fault;
    pile_init(&pile);
    weights_templates_init(&templates, &pile);
    weights_templates_give(&templates, &card);
    assert_true(card.n_templates == 0 && card.chat_template == NULL);
    assert_int_equal(add(&templates, "rag", "r", &fault), STATUS_OK);
    weights_templates_give(&templates, &card);
    assert_true(card.n_templates == 1 && card.chat_template == NULL);
    assert_int_equal(add(&templates, "default", "d", &fault), STATUS_OK);
    assert_int_equal(add(&templates, "default", "e", &fault), STATUS_OK);
    weights_templates_give(&templates, &card);
    assert_int_equal(card.n_templates, 2);
    assert_string_equal(card.templates[0].text, "r");
    assert_string_equal(card.chat_template, "d");
    pile_free(&pile);
}

static void refuses_by_name(void **state)
{
    (void)state;
    struct pile pile;
    struct weights_templates templates;
    struct fault fault;
    pile_init(&pile);
    weights_templates_init(&templates, &pile);
    assert_refused(add(&templates, "a", "\xc3", &fault), STATUS_BAD_INPUT, &fault,
                   "x: the chat template isn't valid UTF-8");
    assert_refused(add(&templates, "\xff", "a", &fault), STATUS_BAD_INPUT, &fault,
                   "x: the chat template isn't valid UTF-8");
    assert_refused(
        weights_templates_add(&templates, view_text("a"), view_of("b\0c", 3), "x", &fault),
        STATUS_BAD_INPUT, &fault, "x: the chat template \"a\" holds a zero byte");
    char *text = mem_take(CARD_TEMPLATE_BYTES_MAX + 2);
    memset(text, 'x', CARD_TEMPLATE_BYTES_MAX + 1);
    assert_refused(add(&templates, "a", text, &fault), STATUS_TOO_LARGE, &fault,
                   "x: the chat template \"a\" has 1048577 bytes, the limit is 1048576");
    mem_give(text);
    for (int i = 0; i < WEIGHTS_TEMPLATES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%d", i);
        assert_int_equal(add(&templates, name, "x", &fault), STATUS_OK);
    }
    assert_refused(add(&templates, "more", "x", &fault), STATUS_TOO_LARGE, &fault,
                   "x: more than 32 chat templates");
    pile_free(&pile);
}

static void writes_special_tokens(void **state)
{
    (void)state;
    struct pile pile;
    struct weights_specials specials;
    struct weights_card card = { 0 };
    pile_init(&pile);
    weights_templates_specials_init(&specials);
    weights_templates_specials_add(&specials, "bos_token", view_text(""));
    weights_templates_specials_give(&specials, &pile, &card);
    assert_null(card.specials_json);
    weights_templates_specials_init(&specials);
    weights_templates_specials_add(&specials, "bos_token", view_text("<s>"));
    weights_templates_specials_add(&specials, "pad_token", view_text("\"\n"));
    weights_templates_specials_give(&specials, &pile, &card);
    assert_string_equal(card.specials_json, "{\"bos_token\":\"<s>\",\"pad_token\":\"\\\"\\n\"}");
    pile_free(&pile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_first_of_a_name),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(writes_special_tokens),
    };
    return cmocka_run_group_tests_name("weights/templates", tests, NULL, NULL);
}
