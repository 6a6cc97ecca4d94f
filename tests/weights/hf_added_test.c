/* Added tokens of the files beside tokenizer.json: their order, and the precedence of the files. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_added.h"

static struct {
    struct weights_json json[4];
    struct pile pile;
    struct weights_hf_added_files files;
    struct weights_tokenizer_source source;
} now;

/* Any text may be NULL: there is no such file. */
static enum status read_files(const char *tokenizer, const char *settings, const char *specials,
                              const char *added, struct fault *fault)
{
    const char *const texts[] = { tokenizer, settings, specials, added };
    const struct weights_json_node *nodes[4] = { NULL };
    pile_init(&now.pile);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        now.json[i] = (struct weights_json){ 0 };
        if (texts[i] == NULL)
            continue;
        assert_int_equal(weights_json_parse(&now.json[i], mem_copy_text(texts[i]), strlen(texts[i]),
                                            "file", fault),
                         STATUS_OK);
        nodes[i] = now.json[i].nodes;
    }
    now.files = (struct weights_hf_added_files){ nodes[0], nodes[1], nodes[2], nodes[3] };
    now.source = (struct weights_tokenizer_source){ 0 };
    return weights_hf_added(&now.files, &now.pile, &now.source, fault);
}

static void forget(void)
{
    for (size_t i = 0; i < COUNT_OF(now.json); i++)
        weights_json_close(&now.json[i]);
    pile_free(&now.pile);
}

static void expect(int32_t i, const char *text, unsigned flags, int64_t id, bool is_weak)
{
    assert_true(i < now.source.n_extra);
    const struct weights_added *token = &now.source.extra[i];
    assert_true(view_equal_text(token->text, text));
    assert_int_equal(token->flags, flags);
    assert_int_equal(token->id, id);
    assert_int_equal(token->is_weak, is_weak);
}

static void settings_list_tokens_by_id(void **state)
{
    (void)state;
    struct fault fault = { "" };
    assert_int_equal(
        read_files(
            "{}",
            "{\"added_tokens_decoder\":{\"10\":{\"content\":\"b\",\"rstrip\":true},"
            "\"9\":{\"content\":\"a\",\"special\":true,\"normalized\":true}},"
            "\"eos_token\":\"<e>\",\"bos_token\":{\"content\":\"<b>\",\"lstrip\":true},"
            "\"pad_token\":null,\"additional_special_tokens\":[\"<x>\",{\"content\":\"<y>\"}]}",
            "{\"eos_token\":\"<other>\"}", "{\"older\":3}", &fault),
        STATUS_OK);
    assert_int_equal(now.source.n_extra, 6);
    expect(0, "a", ADDED_SPECIAL | ADDED_NORMALIZED, 9, false);
    expect(1, "b", ADDED_STRIPS_RIGHT, 10, false);
    expect(2, "<b>", ADDED_SPECIAL | ADDED_STRIPS_LEFT, -1, true);
    expect(3, "<e>", ADDED_SPECIAL, -1, true);
    expect(4, "<x>", ADDED_SPECIAL, -1, true);
    expect(5, "<y>", ADDED_SPECIAL, -1, true);
    forget();
}

static void older_files_stand_for_the_list(void **state)
{
    (void)state;
    struct fault fault = { "" };
    assert_int_equal(read_files("{\"added_tokens\":[{\"id\":4,\"content\":\"known\"}]}",
                                "{\"eos_token\":\"<of settings>\",\"unk_token\":\"<unk>\"}",
                                "{\"eos_token\":{\"content\":\"<e>\",\"normalized\":true},"
                                "\"mask_token\":\"<m>\"}",
                                "{\"known\":4,\"plain\":5,\"<e>\":6}", &fault),
                     STATUS_OK);
    assert_int_equal(now.source.n_extra, 5);
    expect(0, "plain", ADDED_NORMALIZED, 5, false);
    expect(1, "<e>", ADDED_SPECIAL, 6, false);
    expect(2, "<e>", ADDED_SPECIAL | ADDED_NORMALIZED, -1, true);
    expect(3, "<unk>", ADDED_SPECIAL, -1, true);
    expect(4, "<m>", ADDED_SPECIAL, -1, true);
    const struct weights_json_node *eos = weights_hf_added_special(&now.files, "eos_token");
    assert_string_equal(eos->text, "<e>");
    assert_null(weights_hf_added_special(&now.files, "bos_token"));
    forget();
}

static void nothing_is_added_by_nothing(void **state)
{
    (void)state;
    struct fault fault = { "" };
    assert_int_equal(read_files("{}", NULL, NULL, NULL, &fault), STATUS_OK);
    assert_int_equal(now.source.n_extra, 0);
    forget();
    assert_int_equal(read_files("{}", "{\"bos_token\":5}", "[]", "[]", &fault), STATUS_OK);
    assert_int_equal(now.source.n_extra, 0);
    forget();
}

static void refuses_by_name(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    assert_refused(read_files("{}", "{\"added_tokens_decoder\":{\"x\":{\"content\":\"a\"}}}", NULL,
                              NULL, &fault),
                   STATUS_BAD_INPUT, &fault, "added_tokens_decoder has the entry \"x\"");
    forget();
    assert_refused(read_files("{}", "{\"added_tokens_decoder\":{\"1\":{}}}", NULL, NULL, &fault),
                   STATUS_BAD_INPUT, &fault, "entry \"1\"");
    forget();
    assert_refused(read_files("{}", NULL, NULL, "{\"a\":-1}", &fault), STATUS_BAD_INPUT, &fault,
                   "added_tokens.json: the token \"a\"");
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_list_tokens_by_id),
        cmocka_unit_test(older_files_stand_for_the_list),
        cmocka_unit_test(nothing_is_added_by_nothing),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests_name("weights/hf_added", tests, NULL, NULL);
}
