/* A bounded reader of the protocol buffer in tokenizer.model.
 *
 *   ModelProto      1: SentencePiece (repeated)  2: TrainerSpec  3: NormalizerSpec
 *                   5: a NormalizerSpec for decoding
 *   SentencePiece   1: text piece  2: float score  3: type (1 normal, 2 unknown, 3 control,
 *                   4 user defined, 5 unused, 6 byte)
 *   TrainerSpec     3: model_type (1 unigram, 2 BPE, 3 word, 4 char)  24:
 * treat_whitespace_as_suffix 35: byte_fallback  46: bos_piece  47: eos_piece  48: pad_piece
 *   NormalizerSpec  2: precompiled_charsmap  3: add_dummy_prefix  4: remove_extra_whitespaces
 *                   5: escape_whitespaces
 *
 * A field is a varint (number << 3 | wire type) and its payload: 0 varint, 1 eight bytes, 2 length
 * and bytes, 5 four bytes. Unknown fields are skipped. A model that sentencepiece refuses to load
 * is refused here too. */
#include "weights/sentencepiece.h"
#include "core/limits.h"
#include <string.h>

#define LABEL     "tokenizer.model"
#define SPARE_MAX 65536

struct field {
    uint64_t number;
    uint32_t wire;
    uint64_t value;    /* of wire types 0, 1, 5 */
    struct view bytes; /* of wire type 2 */
};

static bool read_varint(struct view *in, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in->n == 0)
            return false;
        uint64_t byte = (unsigned char)*in->at++;
        in->n--;
        *out |= (byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Reads a field. Returns false at the end and when the bytes are broken; then *is_broken is set. */
static bool next_field(struct view *in, struct field *field, bool *is_broken)
{
    uint64_t tag, n = 0;
    if (in->n == 0)
        return false;
    *is_broken = true;
    if (!read_varint(in, &tag))
        return false;
    *field = (struct field){ .number = tag >> 3, .wire = (uint32_t)(tag & 7) };
    switch (field->wire) {
    case 0:
        if (!read_varint(in, &field->value))
            return false;
        *is_broken = false;
        return true;
    case 1:
        n = 8;
        break;
    case 5:
        n = 4;
        break;
    case 2:
        if (!read_varint(in, &n))
            return false;
        break;
    default:
        return false;
    }
    if (field->number == 0 || n > in->n)
        return false;
    if (field->wire == 2)
        field->bytes = view_of(in->at, (size_t)n);
    else
        memcpy(&field->value, in->at, (size_t)n);
    in->at += n;
    in->n -= (size_t)n;
    *is_broken = false;
    return true;
}

static enum status refuse(struct fault *fault, const char *what)
{
    return fault_set(fault, STATUS_BAD_INPUT, LABEL ": %s", what);
}

enum { UNIGRAM = 1, BPE = 2 };
enum { PIECE_BYTES_MAX = 7999 }; /* sentencepiece's */

/* The values of the fields, with their defaults. */
struct model {
    uint64_t model_type;
    struct view bos, eos, pad; /* names of pieces */
    struct tokenizer_sentence sentence;
    bool has_trainer;
    int32_t n_unknown, n_bytes;
};

static enum status read_piece(struct view in, int32_t id, struct pile *pile,
                              struct weights_vocabulary *vocabulary, struct fault *fault)
{
    struct field field;
    struct view text = view_of("", 0);
    uint64_t type = TOKEN_NORMAL;
    float score = 0;
    bool is_broken = false;
    while (next_field(&in, &field, &is_broken)) {
        if (field.number == 1 && field.wire == 2) {
            text = field.bytes;
        } else if (field.number == 2 && field.wire == 5) {
            uint32_t bits = (uint32_t)field.value;
            memcpy(&score, &bits, sizeof(score));
        } else if (field.number == 3 && field.wire == 0) {
            type = field.value;
        }
    }
    if (is_broken || type < TOKEN_NORMAL || type > TOKEN_BYTE || text.n == 0 ||
        text.n > PIECE_BYTES_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, LABEL ": piece %d is malformed", id);
    text.at = pile_text(pile, text.at, text.n);
    weights_vocabulary_set(vocabulary, id, text, (enum weights_token_type)type);
    vocabulary->scores[id] = score;
    return STATUS_OK;
}

static enum status read_trainer(struct view in, struct model *model, struct fault *fault)
{
    struct field field;
    bool is_broken = false;
    model->has_trainer = true;
    while (next_field(&in, &field, &is_broken)) {
        if (field.wire == 0 && field.number == 3)
            model->model_type = field.value;
        else if (field.wire == 0 && field.number == 24)
            model->sentence.is_suffix = field.value != 0;
        else if (field.wire == 0 && field.number == 35)
            model->sentence.falls_back = field.value != 0;
        else if (field.wire == 2 && field.number == 46 && field.bytes.n > 0)
            model->bos = field.bytes;
        else if (field.wire == 2 && field.number == 47 && field.bytes.n > 0)
            model->eos = field.bytes;
        else if (field.wire == 2 && field.number == 48 && field.bytes.n > 0)
            model->pad = field.bytes;
    }
    return is_broken ? refuse(fault, "the trainer's part is malformed") : STATUS_OK;
}

static enum status read_normalizer(struct view in, struct tokenizer_sentence *sentence,
                                   struct fault *fault)
{
    struct field field;
    bool is_broken = false;
    while (next_field(&in, &field, &is_broken)) {
        if (field.wire == 2 && field.number == 2)
            sentence->charsmap = field.bytes;
        else if (field.wire == 0 && field.number == 3)
            sentence->adds_prefix = field.value != 0;
        else if (field.wire == 0 && field.number == 4)
            sentence->removes_spaces = field.value != 0;
        else if (field.wire == 0 && field.number == 5)
            sentence->keeps_spaces = field.value == 0;
    }
    return is_broken ? refuse(fault, "a normalizer's part is malformed") : STATUS_OK;
}

/* --- what sentencepiece checks when it loads a model --- */

/* Returns the byte of "<0x0A>" in capitals, -1 for a text of another form. */
static int byte_of(struct view text)
{
    static const char digits[] = "0123456789ABCDEF";
    if (text.n != 6 || memcmp(text.at, "<0x", 3) != 0 || text.at[5] != '>')
        return -1;
    const char *high = memchr(digits, text.at[3], 16), *low = memchr(digits, text.at[4], 16);
    return high == NULL || low == NULL ? -1 : (int)((high - digits) * 16 + (low - digits));
}

/* Are these two pieces with one text? unigram keeps control, unknown and byte pieces apart. */
static bool is_twin(const struct weights_vocabulary *vocabulary, int32_t a, int32_t b,
                    bool is_unigram)
{
    static const bool is_normal[TOKEN_BYTE + 1] = {
        [TOKEN_NORMAL] = true, [TOKEN_USER] = true, [TOKEN_UNUSED] = true
    };
    return !is_unigram || is_normal[vocabulary->types[a]] == is_normal[vocabulary->types[b]];
}

static enum status check_piece(struct weights_vocabulary *vocabulary, int32_t id,
                               struct model *model, struct fault *fault)
{
    struct view text = view_of(vocabulary->tokens[id], vocabulary->token_bytes[id]);
    const bool falls_back = model->sentence.falls_back;
    bool is_null = text.n == 1 && text.at[0] == '\0';
    if (is_null && falls_back)
        vocabulary->types[id] = TOKEN_UNUSED; /* some converters add it */
    if (is_null && vocabulary->types[id] == TOKEN_UNUSED)
        return STATUS_OK;
    if (memchr(text.at, '\0', text.n) != NULL)
        return fault_set(fault, STATUS_BAD_INPUT, LABEL ": piece %d holds a zero byte", id);
    int32_t twin = weights_vocabulary_find(vocabulary, text);
    if (twin != id && twin >= 0 && is_twin(vocabulary, id, twin, model->model_type == UNIGRAM))
        return fault_set(fault, STATUS_BAD_INPUT, LABEL ": pieces %d and %d are the same text",
                         twin, id);
    model->n_unknown += vocabulary->types[id] == TOKEN_UNKNOWN;
    if (vocabulary->types[id] != TOKEN_BYTE)
        return STATUS_OK;
    model->n_bytes++;
    if (!falls_back || byte_of(text) < 0)
        return fault_set(fault, STATUS_BAD_INPUT, LABEL ": piece %d is a byte but %s", id,
                         falls_back ? "is not written as <0xNN>" : "byte_fallback is off");
    return STATUS_OK;
}

static enum status check_model(struct weights_vocabulary *vocabulary, int32_t n_pieces,
                               struct model *model, struct fault *fault)
{
    if (!model->has_trainer)
        return refuse(fault, "the trainer's part is missing");
    if (model->model_type != UNIGRAM && model->model_type != BPE)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         LABEL ": model type %llu%s is not supported, only unigram and BPE are",
                         (unsigned long long)model->model_type,
                         model->model_type == 3   ? " (word)"
                         : model->model_type == 4 ? " (char)"
                                                  : "");
    enum status status = STATUS_OK;
    for (int32_t id = 0; id < n_pieces && status == STATUS_OK; id++)
        status = check_piece(vocabulary, id, model, fault);
    if (status != STATUS_OK)
        return status;
    if (model->n_unknown > 1 || (model->n_unknown == 0 && !model->sentence.falls_back))
        return refuse(fault, "it needs one unknown piece, and has none or several");
    if (model->sentence.falls_back && model->n_bytes != 256)
        return refuse(fault, "byte_fallback is on, but there are not 256 byte pieces");
    return STATUS_OK;
}

/* Returns the control piece of this name, -1 when there is none. */
static int32_t find_control(const struct weights_vocabulary *vocabulary, struct view name)
{
    for (int32_t id = 0; id < vocabulary->n; id++)
        if (vocabulary->types[id] == TOKEN_CONTROL &&
            view_equal(view_of(vocabulary->tokens[id], vocabulary->token_bytes[id]), name))
            return id;
    return -1;
}

static void fill_card(const struct weights_vocabulary *vocabulary, const struct model *model,
                      struct pile *pile, struct weights_card *card)
{
    card->tokenizer = WEIGHTS_TOKENIZER_SPM;
    card->bos_id = find_control(vocabulary, model->bos);
    card->eos_id = find_control(vocabulary, model->eos);
    card->pad_id = find_control(vocabulary, model->pad);
    for (int32_t id = 0; id < vocabulary->n; id++)
        if (vocabulary->types[id] == TOKEN_UNKNOWN)
            card->unknown_id = id;
    card->has_sentence = true;
    card->sentence = model->sentence;
    card->sentence.is_unigram = model->model_type == UNIGRAM;
    card->add_space_prefix = model->sentence.adds_prefix;
    struct view map = model->sentence.charsmap;
    if (map.n > 0)
        card->sentence.charsmap.at = pile_text(pile, map.at, map.n);
    weights_vocabulary_give(vocabulary, card);
}

int32_t weights_sentencepiece_count(struct view file)
{
    struct field field;
    bool is_broken = false;
    int32_t n = 0;
    while (next_field(&file, &field, &is_broken))
        if (field.number == 1 && field.wire == 2 && ++n > LIMIT_VOCABULARY)
            return 0;
    return is_broken ? 0 : n;
}

enum status weights_sentencepiece(struct view file, int32_t n_least, struct pile *pile,
                                  struct weights_vocabulary *vocabulary, struct weights_card *card,
                                  struct fault *fault)
{
    struct field field;
    struct tokenizer_sentence decoding = { 0 };
    bool is_broken = false;
    int32_t n = weights_sentencepiece_count(file), id = 0;
    enum status status = STATUS_OK;
    struct model model = { .model_type = UNIGRAM,
                           .bos = view_text("<s>"),
                           .eos = view_text("</s>"),
                           .pad = view_text("<pad>"),
                           .sentence = { .adds_prefix = true, .removes_spaces = true } };
    if (n == 0)
        return refuse(fault, "not a SentencePiece model, or cut short");
    int32_t n_room = min_i32(n_least, min_i32(n + SPARE_MAX, LIMIT_VOCABULARY));
    weights_vocabulary_init(vocabulary, pile, max_i32(n, n_room));
    while (status == STATUS_OK && next_field(&file, &field, &is_broken)) {
        if (field.wire != 2)
            continue;
        if (field.number == 1)
            status = read_piece(field.bytes, id++, pile, vocabulary, fault);
        else if (field.number == 2)
            status = read_trainer(field.bytes, &model, fault);
        else if (field.number == 3)
            status = read_normalizer(field.bytes, &model.sentence, fault);
        else if (field.number == 5)
            status = read_normalizer(field.bytes, &decoding, fault);
    }
    if (status == STATUS_OK && decoding.charsmap.n > 0)
        status = fault_set(fault, STATUS_UNSUPPORTED,
                           LABEL ": a denormalizer's character map is not supported");
    if (status == STATUS_OK)
        status = check_model(vocabulary, n, &model, fault);
    if (status == STATUS_OK)
        fill_card(vocabulary, &model, pile, card);
    return status;
}
