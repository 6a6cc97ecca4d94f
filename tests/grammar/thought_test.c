/* Heads of reasoning: written and read, cut and broken; masks in free text and behind its trigger.
 */
#include "grammar/grammar.h"
#include "test.h"

#include <string.h>

static void heads_come_back(void **state)
{
    (void)state;
    const struct grammar_thought thought = { .open = view_text("<think>"),
                                             .close = view_text("</think>"),
                                             .n_max = 12,
                                             .kind = GRAMMAR_REGEX,
                                             .text = view_text("a+") };
    struct grammar_thought read;
    struct str text;
    str_init(&text);
    grammar_thought_write(&thought, &text);
    assert_true(grammar_thought_read(view_of(text.at, text.n), &read));
    assert_true(view_equal(read.open, thought.open) && view_equal(read.close, thought.close));
    assert_true(read.n_max == 12 && read.kind == GRAMMAR_REGEX && view_equal_text(read.text, "a+"));
    for (size_t n = 0; n < text.n; n++) { /* a cut text has a shorter grammar, or is broken */
        bool is_read = grammar_thought_read(view_of(text.at, n), &read);
        assert_int_equal(is_read, n + 2 >= text.n);
    }
    for (size_t i = 0; i < 8; i++) /* no byte of the head leads outside of the text */
        for (int byte = 0; byte < 256; byte++) {
            char copy[64];
            memcpy(copy, text.at, text.n);
            copy[i] = (char)byte;
            if (!grammar_thought_read(view_of(copy, text.n), &read))
                continue;
            assert_true(read.kind < GRAMMAR_THOUGHT && read.n_max >= -1);
            assert_true(read.text.at + read.text.n == copy + text.n);
            assert_true(read.open.n + read.close.n + read.text.n + 8 == text.n);
        }
    str_free(&text);
}

/* Each token fits exactly where its bytes do; a special token fits in free text and at marks. */
static void masks_of_offers_equal_the_bytes(void **state)
{
    (void)state;
    static const char *const pieces[] = { "\xFF<call>", "<", "call>", "call>{", "call>x",      "{",
                                          "}",          "1", "\xFF",  "\xC3",   "\xFF</call>", "" };
    static const char *const texts[] = { "",
                                         "<",
                                         "a<<",
                                         "\xFF<call>",
                                         "<call>",
                                         "<call>{\"a\":",
                                         "<call>{\"a\":1",
                                         "<call>{\"a\":1}",
                                         "<call>{\"a\":1}\xFF</call>",
                                         "\xC3<call>{\"a\":1}</call><" };
    const struct grammar_call call = { view_text("{\"a\":"), view_text("{\"const\":1}"),
                                       view_text("}") };
    const struct grammar_calls calls = { .trigger = view_text("<call>"),
                                         .after = view_text(GRAMMAR_MARK "</call>"),
                                         .calls = &call,
                                         .n_calls = 1,
                                         .n_min = 1,
                                         .n_max = 1 };
    struct view views[COUNT_OF(pieces)];
    struct fault fault;
    struct grammar *grammar;
    struct str text;
    str_init(&text);
    assert_true(grammar_calls_write(&calls, &text));
    assert_int_equal(grammar_open(&grammar, GRAMMAR_CALLS, view_of(text.at, text.n), &fault),
                     STATUS_OK);
    assert_true(grammar_is_offer(grammar));
    struct grammar_state *now = grammar_state_open(grammar);
    for (size_t i = 0; i < COUNT_OF(pieces); i++)
        views[i] = view_text(pieces[i]);
    struct grammar_vocabulary *vocabulary = grammar_vocabulary_open(views, COUNT_OF(pieces));
    struct grammar_masks *masks = grammar_masks_open(vocabulary, 4);
    for (size_t t = 0; t < COUNT_OF(texts); t++) {
        uint32_t mask = 0;
        grammar_state_reset(now, grammar);
        assert_int_equal(grammar_state_add(now, view_text(texts[t])), strlen(texts[t]));
        bool is_free = grammar_state_is_complete(now);
        assert_int_equal(is_free, t < 3 || t > 7);
        assert_true(grammar_masks_fill(masks, now, &mask));
        for (size_t i = 0; i < COUNT_OF(pieces); i++) {
            grammar_state_reset(now, grammar);
            (void)grammar_state_add(now, view_text(texts[t]));
            bool fits = views[i].n > 0 ? grammar_state_add(now, views[i]) == views[i].n : is_free;
            assert_int_equal(mask >> i & 1, fits);
        }
    }
    grammar_masks_close(masks);
    grammar_vocabulary_close(vocabulary);
    grammar_state_close(now);
    grammar_close(grammar);
    str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(heads_come_back),
                                        cmocka_unit_test(masks_of_offers_equal_the_bytes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
