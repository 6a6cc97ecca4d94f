/* tokenizer.model: pieces, ids, and broken protocol buffers. */
#include "weights/refused.h"
#include "base/mem.h"
#include "base/str.h"
#include "weights/sentencepiece.h"

static void put_varint(struct str *out, uint64_t x)
{
    for (; x > 127; x >>= 7)
        str_add_char(out, (char)(x | 0x80));
    str_add_char(out, (char)x);
}

static void put_bytes(struct str *out, unsigned number, const char *bytes, size_t n)
{
    put_varint(out, number << 3 | 2);
    put_varint(out, n);
    str_add(out, bytes, n);
}

static void put_number(struct str *out, unsigned number, uint64_t x)
{
    put_varint(out, number << 3);
    put_varint(out, x);
}

static void put_piece(struct str *out, const char *text, float score, int type)
{
    struct str piece;
    str_init(&piece);
    put_bytes(&piece, 1, text, strlen(text));
    put_varint(&piece, 2 << 3 | 5);
    str_add(&piece, (const char *)&score, 4);
    put_number(&piece, 3, (uint64_t)type);
    put_bytes(out, 1, piece.at, piece.n);
    str_free(&piece);
}

/* model_type 2 is BPE; pad_id is -1, which is ten bytes on the wire. */
static void put_all(struct str *out, int model_type, bool adds_space)
{
    struct str part;
    str_init(out);
    put_piece(out, "<unk>", 0, 2);
    put_piece(out, "<s>", 0, 3);
    put_piece(out, "</s>", 0, 3);
    put_piece(out, "User", 0, 4);
    put_piece(out, "\xe2\x96\x81", -1.5f, 1);
    str_init(&part);
    put_bytes(&part, 1, "x", 1);
    put_number(&part, 3, (uint64_t)model_type);
    put_number(&part, 40, 0);
    put_number(&part, 41, 1);
    put_number(&part, 42, 2);
    put_number(&part, 43, UINT64_MAX);
    put_bytes(out, 2, part.at, part.n);
    str_clear(&part);
    put_number(&part, 3, adds_space);
    put_bytes(out, 3, part.at, part.n);
    str_free(&part);
}

struct opened {
    struct pile pile;
    struct weights_vocabulary vocabulary;
    struct weights_card card;
};

static enum status open_file(struct opened *o, struct view file, int32_t n_least,
                             struct fault *fault)
{
    *o = (struct opened){ 0 };
    weights_card_init(&o->card);
    return weights_sentencepiece(file, n_least, &o->pile, &o->vocabulary, &o->card, fault);
}

static void close_file(struct opened *o)
{
    weights_vocabulary_free(&o->vocabulary);
    pile_free(&o->pile);
}

static void reads_pieces(void **state)
{
    (void)state;
    struct str file;
    struct opened o;
    struct fault fault = { 0 };
    put_all(&file, 2, false);
    struct view bytes = view_of(file.at, file.n);
    assert_int_equal(weights_sentencepiece_count(bytes), 5);
    assert_int_equal(open_file(&o, bytes, 7, &fault), STATUS_OK);
    assert_int_equal(o.card.tokenizer, WEIGHTS_TOKENIZER_SPM);
    assert_int_equal(o.card.n_tokens, 7);
    assert_string_equal(o.card.tokens[4], "\xe2\x96\x81");
    assert_true(o.card.scores[4] == -1.5f);
    assert_int_equal(o.card.types[3], TOKEN_USER);
    assert_true(o.card.has_sentence && !o.card.sentence.is_unigram);
    assert_true(o.card.sentence.removes_spaces && !o.card.sentence.keeps_spaces);
    assert_int_equal(o.card.types[6], TOKEN_UNUSED);
    assert_int_equal(o.card.unknown_id, 0);
    assert_int_equal(o.card.bos_id, 1);
    assert_int_equal(o.card.eos_id, 2);
    assert_int_equal(o.card.pad_id, -1);
    assert_false(o.card.add_space_prefix);
    close_file(&o);
    assert_int_equal(open_file(&o, bytes, INT32_MAX, &fault), STATUS_OK);
    assert_int_equal(o.card.n_tokens, 5 + 65536);
    close_file(&o);
    str_free(&file);
}

static void refuses_by_name(void **state)
{
    (void)state;
    struct str file;
    struct opened o;
    struct fault fault = { 0 };
    put_all(&file, 3, true);
    assert_refused(open_file(&o, view_of(file.at, file.n), 0, &fault), STATUS_UNSUPPORTED, &fault,
                   "model type 3 (word)");
    close_file(&o);
    str_clear(&file);
    put_piece(&file, "a", 0, 9);
    assert_refused(open_file(&o, view_of(file.at, file.n), 0, &fault), STATUS_BAD_INPUT, &fault,
                   "piece 0 is malformed");
    close_file(&o);
    str_clear(&file);
    put_piece(&file, "a", 0, 1);
    assert_refused(open_file(&o, view_of(file.at, file.n), 0, &fault), STATUS_BAD_INPUT, &fault,
                   "trainer's part is missing");
    close_file(&o);
    assert_refused(open_file(&o, view_text(""), 0, &fault), STATUS_BAD_INPUT, &fault,
                   "not a SentencePiece model");
    close_file(&o);
    str_free(&file);
}

/* Models that sentencepiece does not load. */
static void checks_what_the_library_checks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
        int type;
    } cases[] = {
        { "User", "the same text", 1 },
        { "<s>", "the same text", 1 }, /* BPE keeps all in one table */
        { "", "malformed", 1 },
        { "<unk2>", "one unknown piece", 2 },
        { "<0x41>", "byte_fallback is off", 6 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str file;
        struct opened o;
        struct fault fault = { 0 };
        put_all(&file, 2, true);
        put_piece(&file, cases[i].text, 0, cases[i].type);
        assert_refused(open_file(&o, view_of(file.at, file.n), 0, &fault), STATUS_BAD_INPUT, &fault,
                       cases[i].said);
        close_file(&o);
        str_free(&file);
    }
}

/* An unigram model keeps its control pieces apart; a denormalizer is not supported. */
static void reads_other_settings(void **state)
{
    (void)state;
    struct str file, part;
    struct opened o;
    struct fault fault = { 0 };
    str_init(&part);
    put_all(&file, 1, true);
    put_piece(&file, "<s>", 0, 1);
    put_number(&part, 24, 1);
    put_bytes(&part, 47, "User", 4); /* no control piece */
    put_bytes(&file, 2, part.at, part.n);
    str_clear(&part);
    put_number(&part, 4, 0);
    put_number(&part, 5, 0);
    put_bytes(&part, 2, "map", 3);
    put_bytes(&file, 3, part.at, part.n);
    assert_int_equal(open_file(&o, view_of(file.at, file.n), 0, &fault), STATUS_OK);
    const struct tokenizer_sentence *sentence = &o.card.sentence;
    assert_true(sentence->is_unigram && sentence->is_suffix && sentence->adds_prefix);
    assert_true(!sentence->removes_spaces && sentence->keeps_spaces && !sentence->falls_back);
    assert_true(view_equal_text(sentence->charsmap, "map"));
    assert_int_equal(o.card.bos_id, 1);
    assert_int_equal(o.card.eos_id, -1);
    close_file(&o);
    put_bytes(&file, 5, part.at, part.n);
    assert_refused(open_file(&o, view_of(file.at, file.n), 0, &fault), STATUS_UNSUPPORTED, &fault,
                   "denormalizer");
    close_file(&o);
    str_free(&part);
    str_free(&file);
}

static void survives_cuts_and_flips(void **state)
{
    (void)state;
    struct str file;
    struct opened o;
    struct fault fault = { 0 };
    put_all(&file, 2, true);
    for (size_t cut = 0; cut < file.n; cut++) {
        char *copy = mem_take(cut);
        memcpy(copy, file.at, cut);
        (void)!open_file(&o, view_of(copy, cut), 0, &fault);
        close_file(&o);
        mem_give(copy);
    }
    for (size_t i = 0; i < file.n; i++)
        for (unsigned mask = 1; mask < 256; mask <<= 1) {
            file.at[i] = (char)((unsigned char)file.at[i] ^ mask);
            (void)!open_file(&o, view_of(file.at, file.n), 0, &fault);
            close_file(&o);
            file.at[i] = (char)((unsigned char)file.at[i] ^ mask);
        }
    str_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_pieces),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(checks_what_the_library_checks),
        cmocka_unit_test(reads_other_settings),
        cmocka_unit_test(survives_cuts_and_flips),
    };
    return cmocka_run_group_tests_name("weights/sentencepiece", tests, NULL, NULL);
}
