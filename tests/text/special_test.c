/* Special tokens: the longest at a place, the first in a text, exact look-up. */
#include "test.h"
#include "text/special.h"

static const char *const tokens[] = { "<s>", "<s>x", "</s>", "normal", "<", "<s>" };
static const uint8_t types[] = { 3, 3, 3, 1, 4, 3 };

static void finds_first_and_longest(void **state)
{
    (void)state;
    struct tokenizer_options options = {
        .kind = TOKENIZER_BPE, .n_tokens = COUNT_OF(types), .tokens = tokens, .types = types
    };
    struct text_vocab vocab;
    struct text_special special;
    struct fault fault;
    int32_t id;
    assert_int_equal(text_vocab_open(&vocab, &options, &fault), STATUS_OK);
    text_special_open(&special, &vocab, 1u << TEXT_CONTROL);
    assert_int_equal(special.n, 3); /* the second <s> is the first */
    assert_int_equal(text_special_match(&special, &vocab, view_text("<s>xy")), 1);
    assert_int_equal(text_special_match(&special, &vocab, view_text("<s>")), 0);
    assert_int_equal(text_special_match(&special, &vocab, view_text("<s")), -1);
    assert_int_equal(text_special_match(&special, &vocab, view_text("")), -1);
    assert_int_equal(text_special_match(&special, &vocab, view_text("normal")), -1);
    assert_int_equal(text_special_search(&special, &vocab, view_text("a<</s><s>"), 0, &id), 2);
    assert_int_equal(id, 2);
    assert_int_equal(text_special_search(&special, &vocab, view_text("a<</s><s>"), 3, &id), 6);
    assert_int_equal(id, 0);
    assert_int_equal(text_special_search(&special, &vocab, view_text("none"), 0, &id), 4);
    assert_int_equal(id, -1);
    assert_int_equal(text_special_find(&special, &vocab, view_text("<s>x")), 1);
    assert_int_equal(text_special_find(&special, &vocab, view_text("<s>xy")), -1);
    text_special_close(&special);
    text_special_open(&special, &vocab, 0);
    assert_int_equal(text_special_search(&special, &vocab, view_text("<s>"), 0, &id), 3);
    text_special_close(&special);
    text_vocab_close(&vocab);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(finds_first_and_longest) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
