/* Chat templates and special tokens of GGUF metadata. */
#include "weights/refused.h"
#include "weights/build.h"
#include "weights/card.h"
#include "weights/gguf_card.h"

static enum status card_of(struct build *b, struct weights_gguf *gguf, struct weights_card *card,
                           struct fault *fault)
{
    size_t n;
    unsigned char *bytes = build_end(b, &n);
    assert_int_equal(weights_gguf_read(gguf, bytes, n, fault), STATUS_OK);
    enum status status = weights_gguf_card(gguf, 0, card, fault);
    mem_give(bytes);
    gguf->n_values = 0;
    build_free(b);
    return status;
}

static void reads_named_ones(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    build_spm(&b); /* has a default */
    build_text(&b, "tokenizer.chat_template.tool_use", "{{ tools }}");
    build_text(&b, "tokenizer.chat_template.", "no name");
    build_text(&b, "tokenizer.chat_templates", "another key");
    assert_int_equal(card_of(&b, &gguf, &card, &fault), STATUS_OK);
    assert_int_equal(card.n_templates, 2);
    assert_string_equal(card.templates[0].name, "default");
    assert_string_equal(card.templates[1].name, "tool_use");
    assert_string_equal(card.templates[1].text, "{{ tools }}");
    assert_string_equal(card.chat_template, "{{ messages[0].content }}");
    weights_gguf_close(&gguf);
}

static void has_none(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    b.without = "tokenizer.chat_template";
    build_spm(&b);
    assert_int_equal(card_of(&b, &gguf, &card, &fault), STATUS_OK);
    assert_true(card.n_templates == 0 && card.chat_template == NULL);
    weights_gguf_close(&gguf);
}

/* Ids become texts, as the tokenizer shows them: U+2581 is SentencePiece's space. */
static void names_special_tokens(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    b.without = "tokenizer.ggml.padding_token_id";
    build_spm(&b);
    b.without = NULL;
    build_u32(&b, "tokenizer.ggml.padding_token_id", 6);
    build_u32(&b, "tokenizer.ggml.seperator_token_id", 7);
    build_u32(&b, "tokenizer.ggml.cls_token_id", 9);
    build_u32(&b, "tokenizer.ggml.mask_token_id", 1000);
    assert_int_equal(card_of(&b, &gguf, &card, &fault), STATUS_OK);
    char expected[256];
    snprintf(expected, sizeof(expected),
             "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\",\"unk_token\":\"<unk>\","
             "\"pad_token\":\"%s\",\"sep_token\":\"ab\",\"cls_token\":\"%s\"}",
             card.tokens[6], card.tokens[9]);
    assert_string_equal(card.specials_json, expected);
    weights_gguf_close(&gguf);
    build_init(&b);
    b.without = "tokenizer.ggml.padding_token_id";
    build_spm(&b);
    b.without = NULL;
    build_u32(&b, "tokenizer.ggml.padding_token_id", 4); /* U+2581 */
    assert_int_equal(card_of(&b, &gguf, &card, &fault), STATUS_OK);
    assert_non_null(strstr(card.specials_json, "\"pad_token\":\" \""));
    weights_gguf_close(&gguf);
}

static void refuses_what_is_no_text(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    build_spm(&b);
    build_u32(&b, "tokenizer.chat_template.rag", 6);
    assert_refused(card_of(&b, &gguf, &card, &fault), STATUS_BAD_INPUT, &fault,
                   "tokenizer.chat_template.rag is a uint32, expected a text");
    weights_gguf_close(&gguf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_named_ones),
        cmocka_unit_test(has_none),
        cmocka_unit_test(names_special_tokens),
        cmocka_unit_test(refuses_what_is_no_text),
    };
    return cmocka_run_group_tests_name("weights/gguf_template", tests, NULL, NULL);
}
