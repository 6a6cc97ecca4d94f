/* tokenizer.model and the files beside it: added tokens, their flags, and refusals. */
#include "weights/refused.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "weights/hf_pieces.h"
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/hf_pieces_test.XXXXXX";

static void put_bytes(struct str *out, int number, const char *bytes, size_t n)
{
    str_add_char(out, (char)(number << 3 | 2));
    str_add_char(out, (char)n);
    str_add(out, bytes, n);
}

static void put_piece(struct str *out, const char *text, char type)
{
    struct str piece;
    str_init(&piece);
    put_bytes(&piece, 1, text, strlen(text));
    str_add_char(&piece, 3 << 3);
    str_add_char(&piece, type);
    put_bytes(out, 1, piece.at, piece.n);
    str_free(&piece);
}

/* <unk>, <s>, </s>, a, and the user-defined <u>; BPE. */
static int make_model(void **state)
{
    (void)state;
    struct str file;
    str_init(&file);
    put_piece(&file, "<unk>", 2);
    put_piece(&file, "<s>", 3);
    put_piece(&file, "</s>", 3);
    put_piece(&file, "a", 1);
    put_piece(&file, "<u>", 4);
    put_bytes(&file, 2, "\x18\x02", 2);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write(path, file.at, file.n, NULL), STATUS_OK);
    str_free(&file);
    return 0;
}

static int remove_model(void **state)
{
    (void)state;
    return unlink(path);
}

struct opened {
    struct weights_json settings, added;
    struct weights_hf_card hf;
    struct weights_card card;
};

static void parse(struct weights_json *json, const char *text)
{
    struct fault fault;
    if (text != NULL)
        assert_int_equal(
            weights_json_parse(json, mem_copy_text(text), strlen(text), "test", &fault), STATUS_OK);
}

static enum status open_with(struct opened *o, const char *settings, const char *added,
                             struct fault *fault)
{
    *o = (struct opened){ 0 };
    parse(&o->settings, settings);
    parse(&o->added, added);
    weights_card_init(&o->card);
    const struct weights_hf_added_files files = { .settings = o->settings.nodes,
                                                  .added = o->added.nodes };
    return weights_hf_pieces(path, &files, false, &o->hf, &o->card, fault);
}

static void close_all(struct opened *o)
{
    weights_json_close(&o->settings);
    weights_json_close(&o->added);
    weights_vocabulary_free(&o->hf.vocabulary);
    pile_free(&o->hf.pile);
}

/* Returns the flags of an added token, -1 when it is not added. */
static int flags_of(const struct opened *o, int32_t id)
{
    const struct tokenizer_sentence *sentence = &o->card.sentence;
    for (int32_t i = 0; i < sentence->n_added; i++)
        if (sentence->added[i].id == id)
            return (int)sentence->added[i].flags;
    return -1;
}

static void pieces_alone_have_their_control_tokens(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { "" };
    assert_int_equal(open_with(&o, NULL, NULL, &fault), STATUS_OK);
    assert_int_equal(o.card.sentence.n_pieces, 5);
    assert_int_equal(flags_of(&o, 0), -1); /* <unk> is text */
    assert_int_equal(flags_of(&o, 1), ADDED_SPECIAL);
    assert_int_equal(flags_of(&o, 4), -1); /* the model finds it */
    assert_false(o.card.sentence.is_modern);
    close_all(&o);
}

static void settings_add_tokens(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { "" };
    static const char settings[] =
        "{\"legacy\":false,\"add_prefix_space\":false,\"unk_token\":\"<unk>\",\"bos_token\":\"<s>"
        "\","
        "\"pad_token\":\"<none>\",\"added_tokens_decoder\":{"
        "\"0\":{\"content\":\"<unk>\",\"special\":true},"
        "\"7\":{\"content\":\"<tool>\",\"special\":false,\"rstrip\":true},"
        "\"5\":{\"content\":\"<end>\",\"special\":true}}}";
    assert_int_equal(open_with(&o, settings, NULL, &fault), STATUS_OK);
    assert_int_equal(o.card.n_tokens, 8);
    assert_int_equal(flags_of(&o, 0), ADDED_SPECIAL | ADDED_NAMED);
    assert_int_equal(flags_of(&o, 1), ADDED_SPECIAL | ADDED_NAMED);
    assert_int_equal(flags_of(&o, 2), ADDED_SPECIAL);
    assert_int_equal(flags_of(&o, 5), ADDED_SPECIAL);
    assert_int_equal(flags_of(&o, 6), -1);
    assert_int_equal(flags_of(&o, 7), ADDED_STRIPS_RIGHT);
    assert_string_equal(o.card.tokens[7], "<tool>");
    assert_int_equal(o.card.types[7], TOKEN_USER);
    assert_true(o.card.sentence.is_modern && !o.card.sentence.adds_prefix);
    assert_true(view_equal_text(o.card.sentence.unknown, "<unk>"));
    close_all(&o);
}

static void older_files_add_tokens(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { "" };
    assert_int_equal(
        open_with(&o, "{\"eos_token\":\"<end>\"}", "{\"<end>\":5,\"<tag>\":6}", &fault), STATUS_OK);
    assert_int_equal(flags_of(&o, 5), ADDED_SPECIAL | ADDED_NAMED);
    assert_int_equal(flags_of(&o, 6), 0);
    close_all(&o);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *added, *said;
        enum status status;
    } rows[] = {
        { "{\"b\":3}", "reads otherwise than its piece", STATUS_UNSUPPORTED },
        { "{\"a\":5}", "reads like piece 3", STATUS_UNSUPPORTED },
        { "{\"x\":900000}", "far behind the 5 pieces", STATUS_BAD_INPUT },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct opened o;
        struct fault fault = { "" };
        assert_refused(open_with(&o, NULL, rows[i].added, &fault), rows[i].status, &fault,
                       rows[i].said);
        close_all(&o);
    }
    static const char *const settings[][2] = {
        { "{\"added_tokens_decoder\":{\"5\":{\"content\":\"x\",\"single_word\":true}}}",
          "single word" },
        { "{\"added_tokens_decoder\":{\"5\":{\"content\":\" x\"},"
          "\"6\":{\"content\":\"y\",\"rstrip\":true}}}",
          "begins or ends with a space" },
    };
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        struct opened o;
        struct fault fault = { "" };
        assert_refused(open_with(&o, settings[i][0], NULL, &fault), STATUS_UNSUPPORTED, &fault,
                       settings[i][1]);
        close_all(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_alone_have_their_control_tokens),
        cmocka_unit_test(settings_add_tokens),
        cmocka_unit_test(older_files_add_tokens),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests_name("weights/hf_pieces", tests, make_model, remove_model);
}
