/* The best division: sums, ties, letters without a piece, and long texts in both precisions. */
#include "test.h"
#include "base/mem.h"
#include "text/unigram.h"
#include <string.h>

enum { UNK, A, B, AB, ABC, USER, N };
static const double scores[N] = { 0, -2, -2, -3, -9, 0 };
static const uint8_t roles[N] = { UNIGRAM_NO_PIECE, UNIGRAM_PIECE, UNIGRAM_PIECE,
                                  UNIGRAM_PIECE,    UNIGRAM_PIECE, UNIGRAM_USER_DEFINED };

static void open_one(struct unigram *unigram, bool is_single)
{
    static struct view texts[N];
    static const char *const names[N] = { "", "a", "b", "ab", "abc", "bcd" };
    struct fault fault;
    for (size_t i = 0; i < N; i++)
        texts[i] = view_text(names[i]);
    const struct unigram_options options = { .n_tokens = N,
                                             .texts = texts,
                                             .scores = scores,
                                             .roles = roles,
                                             .score_min = -9,
                                             .unknown_id = UNK,
                                             .is_single = is_single };
    assert_int_equal(unigram_open(unigram, &options, &fault), STATUS_OK);
}

static void expect(const char *text, const char *expected)
{
    for (int is_single = 0; is_single < 2; is_single++) {
        struct unigram unigram;
        struct unigram_work work = { 0 };
        char got[256] = "";
        size_t n = 0, end = 0;
        open_one(&unigram, is_single != 0);
        unigram_divide(&unigram, &work, view_text(text));
        for (size_t i = 0; i < work.n; i++) {
            assert_int_equal(work.pieces[i].start, end);
            end += work.pieces[i].n;
            n += (size_t)snprintf(got + n, sizeof(got) - n, "%d ", work.pieces[i].id);
        }
        assert_int_equal(end, strlen(text));
        assert_string_equal(got, expected);
        unigram_work_free(&work);
        unigram_close(&unigram);
    }
}

static void the_greatest_sum_wins(void **state)
{
    (void)state;
    expect("ab", "3 ");  /* -3 before -4 */
    expect("abc", "4 "); /* -9 before -3 - 19 */
    expect("", "");
    expect("ba", "2 1 ");
    expect("abab", "3 3 ");
}

static void letters_without_a_piece_are_unknown(void **state)
{
    (void)state;
    expect("c", "0 ");
    expect("a\xE4\xB8\xAD", "1 0 "); /* the whole letter */
    expect("cc", "0 0 ");
}

static void user_defined_pieces_are_taken(void **state)
{
    (void)state;
    expect("abcd", "1 5 ");
}

/* A million letters: sums far beyond the resolution of single precision. */
static void long_texts_keep_their_pieces(void **state)
{
    (void)state;
    enum { LENGTH = 1000000 };
    char *text = mem_take(LENGTH);
    for (size_t i = 0; i < LENGTH; i++)
        text[i] = i % 2 == 0 ? 'a' : 'b';
    struct unigram unigram;
    struct unigram_work work = { 0 };
    open_one(&unigram, true);
    unigram_divide(&unigram, &work, view_of(text, LENGTH));
    assert_int_equal(work.n, LENGTH / 2);
    for (size_t i = 0; i < work.n; i++)
        assert_int_equal(work.pieces[i].id, AB);
    unigram_work_free(&work);
    unigram_close(&unigram);
    mem_give(text);
}

static void long_pieces_are_refused(void **state)
{
    (void)state;
    char *text = mem_take(2000);
    memset(text, 'x', 2000);
    const struct view texts[] = { view_of(text, 2000) };
    static const uint8_t role[] = { UNIGRAM_PIECE };
    const struct unigram_options options = {
        .n_tokens = 1, .texts = texts, .scores = scores, .roles = role, .unknown_id = -1
    };
    struct unigram unigram;
    struct fault fault = { "" };
    assert_int_equal(unigram_open(&unigram, &options, &fault), STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, "2000 bytes"));
    unigram_close(&unigram);
    mem_give(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_greatest_sum_wins),
        cmocka_unit_test(letters_without_a_piece_are_unknown),
        cmocka_unit_test(user_defined_pieces_are_taken),
        cmocka_unit_test(long_texts_keep_their_pieces),
        cmocka_unit_test(long_pieces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
