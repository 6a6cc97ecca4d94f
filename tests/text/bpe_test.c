/* Byte-level BPE: the order of merges, long words against a naive merge loop, missing bytes. */
#include "test.h"
#include "text/bpe.h"

static const char *const tokens[] = { "a", "b", "c", "ab", "bc", "abc", "aa", "aaaa", "\xC4\xA0" };
static const char *const merges[] = {
    "b c", "a b", "ab c", "a a", "aa aa", "no such", "a nothing"
};
static struct tokenizer_options options = { .kind = TOKENIZER_BPE,
                                            .n_tokens = COUNT_OF(tokens),
                                            .tokens = tokens,
                                            .n_merges = COUNT_OF(merges),
                                            .merges = merges,
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
           text_bpe_open(&bpe, &vocab, &options, &fault) != STATUS_OK;
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
    assert_int_equal(encode(" ", ids), 1);
    assert_int_equal(ids[0], 8);
}

static void whole_words_need_no_merges_when_ignored(void **state)
{
    (void)state;
    int32_t ids[64];
    struct fault fault;
    struct tokenizer_options other = options;
    other.ignore_merges = true;
    text_bpe_close(&bpe);
    assert_int_equal(text_bpe_open(&bpe, &vocab, &other, &fault), STATUS_OK);
    assert_int_equal(encode("abc", ids), 1);
    assert_int_equal(ids[0], 5);
}

static void bytes_without_a_token_vanish_or_are_unknown(void **state)
{
    (void)state;
    int32_t ids[64];
    assert_int_equal(encode("axb", ids), 2);
    bpe.unknown_id = 8;
    assert_int_equal(encode("axb", ids), 3);
    assert_int_equal(ids[1], 8);
}

/* Joins the leftmost pair of lowest rank until there is none. */
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
        cmocka_unit_test_setup_teardown(bytes_without_a_token_vanish_or_are_unknown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(long_words_merge_as_the_naive_loop, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
