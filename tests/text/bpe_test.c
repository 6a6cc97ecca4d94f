/* BPE: the order of merges, long words against a naive merge loop, letters without a token,
 * prefixes and suffixes. */
#include "test.h"
#include "text/bpe.h"

static const char *const tokens[] = { "a",    "b",   "c",     "ab",      "bc",     "abc",    "aa",
                                      "aaaa", "##b", "c</w>", "##c</w>", "<0xC3>", "<0xA9>", "?" };
enum { A, B, C, AB, BC, ABC, AA, AAAA, INNER_B, LAST_C, INNER_LAST_C, BYTE_C3, BYTE_A9, UNKNOWN };
static const char *const merges[] = {
    "b c", "a b", "ab c", "a a", "aa aa", "no such", "a nothing"
};
static const struct tokenizer_options options = { .kind = TOKENIZER_BPE,
                                                  .n_tokens = COUNT_OF(tokens),
                                                  .tokens = tokens };
static const struct text_bpe_options plain = { .n_merges = COUNT_OF(merges),
                                               .merge_texts = merges,
                                               .unknown_id = -1 };

static struct text_vocab vocab;
static struct text_bpe bpe;
static struct text_merge merge;

static int set_up(void **state)
{
    (void)state;
    struct fault fault;
    text_merge_init(&merge);
    return text_vocab_open(&vocab, &options, &fault) != STATUS_OK ||
           text_bpe_open(&bpe, &vocab, &plain, &fault) != STATUS_OK;
}

static int tear_down(void **state)
{
    (void)state;
    text_bpe_close(&bpe);
    text_vocab_close(&vocab);
    text_merge_free(&merge);
    return 0;
}

static int64_t encode(const char *word, int32_t *out)
{
    struct text_ids ids = { .at = out, .n_max = 4096 };
    text_bpe_encode(&bpe, &merge, view_text(word), &ids);
    return ids.n;
}

static void the_lowest_rank_merges_first(void **state)
{
    (void)state;
    int32_t ids[64];
    assert_int_equal(encode("abc", ids), 2); /* a + bc: "ab" comes later */
    assert_true(ids[0] == 0 && ids[1] == 4);
    assert_int_equal(encode("ab", ids), 1);
    assert_int_equal(ids[0], 3);
    assert_int_equal(encode("aaaaa", ids), 2);
    assert_true(ids[0] == 7 && ids[1] == 0);
}

static void reopen(const struct text_bpe_options *other)
{
    struct fault fault;
    text_bpe_close(&bpe);
    assert_int_equal(text_bpe_open(&bpe, &vocab, other, &fault), STATUS_OK);
}

static void expect(const char *word, int n, const int32_t *wanted)
{
    int32_t ids[64];
    assert_int_equal(encode(word, ids), n);
    for (int i = 0; i < n; i++)
        assert_int_equal(ids[i], wanted[i]);
}
#define EXPECT(word, ...)                                                                          \
    expect(word, (int)COUNT_OF(((const int32_t[]){ __VA_ARGS__ })),                                \
           (const int32_t[]){ __VA_ARGS__ })

static void whole_words_need_no_merges_when_ignored(void **state)
{
    (void)state;
    struct text_bpe_options other = plain;
    other.ignores_merges = true;
    reopen(&other);
    EXPECT("abc", ABC);
}

static void letters_without_a_token_vanish_or_are_unknown(void **state)
{
    (void)state;
    struct text_bpe_options other = plain;
    EXPECT("axcb", A, C, B);
    other.unknown_id = UNKNOWN;
    reopen(&other);
    EXPECT("axyb", A, UNKNOWN, UNKNOWN, B);
    other.fuses_unknown = true;
    reopen(&other);
    EXPECT("axyb", A, UNKNOWN, B);
}

/* As in the library: a waiting unknown letter comes behind the bytes of a letter that has some. */
static void letters_without_a_token_become_bytes(void **state)
{
    (void)state;
    struct text_bpe_options other = plain;
    other.falls_back_to_bytes = true;
    other.unknown_id = UNKNOWN;
    reopen(&other);
    EXPECT("a\xC3\xA9", A, BYTE_C3, BYTE_A9);
    EXPECT("x\xC3\xA9"
           "a",
           BYTE_C3, BYTE_A9, UNKNOWN, A);
}

static void inner_pieces_have_a_prefix_and_last_ones_a_suffix(void **state)
{
    (void)state;
    static const int32_t ids[][3] = { { A, INNER_B, AB } };
    struct text_bpe_options other = { .n_merges = 1,
                                      .merges = ids,
                                      .unknown_id = UNKNOWN,
                                      .prefix = view_text("##"),
                                      .suffix = view_text("</w>") };
    reopen(&other);
    EXPECT("abc", AB, INNER_LAST_C);
    EXPECT("c", LAST_C);
    EXPECT("ab", A, UNKNOWN); /* ##b</w> is not a token */
}

static void merges_of_no_tokens_are_refused(void **state)
{
    (void)state;
    static const int32_t ids[][3] = { { A, B, COUNT_OF(tokens) } };
    struct text_bpe_options other = { .n_merges = 1, .merges = ids, .unknown_id = -1 };
    struct fault fault = { "" };
    text_bpe_close(&bpe);
    assert_int_equal(text_bpe_open(&bpe, &vocab, &other, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "merge 0"));
}

/* Joins the leftmost pair of lowest rank until none is left. */
static int64_t encode_naively(const char *word, int32_t *ids)
{
    int64_t n = 0;
    for (const char *c = word; *c != '\0'; c++)
        ids[n++] = *c - 'a';
    for (;;) {
        uint32_t lowest = MAP_NONE;
        int64_t at = 0;
        for (int64_t i = 0; i + 1 < n; i++) {
            uint32_t rank =
                map_find(&bpe.merges, (uint64_t)(uint32_t)ids[i] << 32 | (uint32_t)ids[i + 1]);
            if (rank < lowest) {
                lowest = rank;
                at = i;
            }
        }
        if (lowest == MAP_NONE)
            return n;
        ids[at] = bpe.joined[lowest];
        memmove(ids + at + 1, ids + at + 2, (size_t)(n - at - 2) * sizeof(*ids));
        n--;
    }
}

static void long_words_merge_as_the_naive_loop(void **state)
{
    (void)state;
    static int32_t ids[4096], naive[4096];
    char word[1025] = "";
    uint32_t seed = 7;
    for (int round = 0; round < 300; round++) {
        size_t n = (size_t)round * 3 + 1;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            word[i] = (char)('a' + (seed >> 24) % (round % 2 == 0 ? 3 : 2));
        }
        word[n] = '\0';
        int64_t n_ids = encode(word, ids);
        assert_int_equal(n_ids, encode_naively(word, naive));
        assert_memory_equal(ids, naive, (size_t)n_ids * sizeof(*ids));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_lowest_rank_merges_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whole_words_need_no_merges_when_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(letters_without_a_token_vanish_or_are_unknown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(letters_without_a_token_become_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inner_pieces_have_a_prefix_and_last_ones_a_suffix, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(merges_of_no_tokens_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_words_merge_as_the_naive_loop, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
