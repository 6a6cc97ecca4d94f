/* Cards: ends of generation are unique and known; checks are named. */
#include "weights/refused.h"
#include "weights/card.h"

static const char *tokens[] = { "a", "<|eot_id|>", "<|im_end|>", "<0x41>", "<|end|>" };
static uint32_t n_bytes[] = { 1, 10, 10, 6, 7 };
static uint8_t types[] = { 1, 3, 4, 6, 1 };

static struct weights_card small_card(void)
{
    struct weights_card card;
    weights_card_init(&card);
    card.tokenizer = WEIGHTS_TOKENIZER_SPM;
    card.n_tokens = 5;
    card.tokens = tokens;
    card.token_bytes = n_bytes;
    card.types = types;
    return card;
}

static void knows_ends(void **state)
{
    (void)state;
    struct weights_card card = small_card();
    weights_card_add_eog(&card, 0);
    weights_card_add_eog(&card, 0);
    weights_card_add_eog(&card, -1);
    weights_card_add_eog(&card, 5);
    assert_int_equal(card.n_eog, 1);
    weights_card_add_known_eog(&card); /* not token 4: it is ordinary text there */
    assert_int_equal(card.n_eog, 3);
    assert_int_equal(card.eog_ids[1], 1);
    assert_int_equal(card.eog_ids[2], 2);
    for (int i = 0; i < 40; i++)
        weights_card_add_eog(&card, i % 5);
    assert_int_equal(card.n_eog, 5);
}

static void checks_by_name(void **state)
{
    (void)state;
    static const char *const merges[] = { "a b", "ab" };
    struct fault fault = { 0 };
    struct weights_card card = small_card();
    assert_int_equal(weights_card_check(&card, "x", &fault), STATUS_OK);
    card.merges = merges;
    card.n_merges = 2;
    assert_refused(weights_card_check(&card, "x", &fault), STATUS_BAD_INPUT, &fault, "merge 1");
    card.n_merges = 1;
    types[0] = 6;
    assert_refused(weights_card_check(&card, "x", &fault), STATUS_BAD_INPUT, &fault,
                   "token 0 is a byte");
    tokens[0] = "<0x-1>"; /* it once caused a write out of bounds in another program */
    n_bytes[0] = 6;
    assert_refused(weights_card_check(&card, "x", &fault), STATUS_BAD_INPUT, &fault,
                   "token 0 is a byte");
    types[0] = 0;
    assert_refused(weights_card_check(&card, "x", &fault), STATUS_BAD_INPUT, &fault,
                   "token 0 has type 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_ends),
        cmocka_unit_test(checks_by_name),
    };
    return cmocka_run_group_tests_name("weights/card", tests, NULL, NULL);
}
