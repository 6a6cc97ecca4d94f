/* The vocabulary under construction: both ways, with holes and doubles. */
#include "test.h"
#include "base/pile.h"
#include "weights/vocabulary.h"

static void goes_both_ways(void **state)
{
    (void)state;
    struct weights_vocabulary vocabulary;
    struct weights_card card;
    struct pile pile;
    pile_init(&pile);
    weights_card_init(&card);
    assert_int_equal(card.bos_id, -1);
    weights_vocabulary_init(&vocabulary, &pile, 4);
    weights_vocabulary_set(&vocabulary, 0, view_text("a"), TOKEN_NORMAL);
    weights_vocabulary_set(&vocabulary, 2, view_text("b"), TOKEN_CONTROL);
    weights_vocabulary_set(&vocabulary, 3, view_text("a"), TOKEN_USER);
    assert_int_equal(weights_vocabulary_find(&vocabulary, view_text("a")), 0);
    assert_int_equal(weights_vocabulary_find(&vocabulary, view_text("b")), 2);
    assert_int_equal(weights_vocabulary_find(&vocabulary, view_text("c")), -1);
    card.tokenizer = WEIGHTS_TOKENIZER_SPM;
    weights_vocabulary_give(&vocabulary, &card);
    assert_int_equal(card.n_tokens, 4);
    assert_string_equal(card.tokens[1], "");
    assert_int_equal(card.types[1], TOKEN_UNUSED);
    assert_int_equal(card.types[3], TOKEN_USER);
    assert_non_null(card.scores);
    card.tokenizer = WEIGHTS_TOKENIZER_BPE;
    weights_vocabulary_give(&vocabulary, &card);
    assert_null(card.scores);
    for (int i = 0; i < 20; i++) /* more texts than ids: the way back fills up, no more */
        weights_vocabulary_set(&vocabulary, 1, view_of(&"0123456789abcdefghij"[i], 1),
                               TOKEN_NORMAL);
    weights_vocabulary_free(&vocabulary);
    assert_int_equal(weights_vocabulary_find(&vocabulary, view_text("a")), -1);
    pile_free(&pile);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(goes_both_ways) };
    return cmocka_run_group_tests_name("weights/vocabulary", tests, NULL, NULL);
}
