/* A bounded reader of the protocol buffer in tokenizer.model.
 *
 *   ModelProto     1: SentencePiece (repeated)  2: TrainerSpec  3: NormalizerSpec
 *   SentencePiece  1: text piece   2: float score   3: type (1 normal, 2 unknown, 3 control,
 *                  4 user defined, 5 unused, 6 byte)
 *   TrainerSpec    3: model_type (1 unigram, 2 BPE)   40: unk_id  41: bos_id  42: eos_id  43:
 * pad_id NormalizerSpec 3: add_dummy_prefix
 *
 * A field is a varint (number << 3 | wire type) and its payload: 0 varint, 1 eight bytes, 2 length
 * and bytes, 5 four bytes. Unknown fields are passed over. */
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

/* False at the end and when the bytes are broken: then *is_broken. */
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
    if (is_broken || type < TOKEN_NORMAL || type > TOKEN_BYTE)
        return fault_set(fault, STATUS_BAD_INPUT, LABEL ": piece %d is malformed", id);
    text.at = pile_text(pile, text.at, text.n);
    weights_vocabulary_set(vocabulary, id, text, (enum weights_token_type)type);
    vocabulary->scores[id] = score;
    return STATUS_OK;
}

/* An id as int32 on the wire: negative ones come as ten bytes. */
static int32_t to_id(uint64_t value, int32_t n)
{
    return value < (uint64_t)n ? (int32_t)value : -1;
}

static enum status read_trainer(struct view in, int32_t n, struct weights_card *card,
                                struct fault *fault)
{
    struct field field;
    uint64_t model_type = 1;
    bool is_broken = false;
    while (next_field(&in, &field, &is_broken)) {
        if (field.wire != 0)
            continue;
        if (field.number == 3)
            model_type = field.value;
        else if (field.number == 40)
            card->unknown_id = to_id(field.value, n);
        else if (field.number == 41)
            card->bos_id = to_id(field.value, n);
        else if (field.number == 42)
            card->eos_id = to_id(field.value, n);
        else if (field.number == 43)
            card->pad_id = to_id(field.value, n);
    }
    if (is_broken)
        return refuse(fault, "the trainer's part is malformed");
    if (model_type != 2)
        return fault_set(fault, STATUS_UNSUPPORTED, LABEL ": model type %llu%s is not supported",
                         (unsigned long long)model_type, model_type == 1 ? " (unigram)" : "");
    return STATUS_OK;
}

static enum status read_normalizer(struct view in, struct weights_card *card, struct fault *fault)
{
    struct field field;
    bool is_broken = false;
    while (next_field(&in, &field, &is_broken))
        if (field.number == 3 && field.wire == 0)
            card->add_space_prefix = field.value != 0;
    return is_broken ? refuse(fault, "the normalizer's part is malformed") : STATUS_OK;
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
    bool is_broken = false, has_trainer = false;
    int32_t n = weights_sentencepiece_count(file), id = 0;
    enum status status = STATUS_OK;
    if (n == 0)
        return refuse(fault, "not a SentencePiece model, or cut short");
    card->tokenizer = WEIGHTS_TOKENIZER_SPM;
    card->add_space_prefix = true; /* what an absent field means */
    card->unknown_id = 0;
    card->bos_id = to_id(1, n);
    card->eos_id = to_id(2, n);
    int32_t n_room = min_i32(n_least, min_i32(n + SPARE_MAX, LIMIT_VOCABULARY));
    weights_vocabulary_init(vocabulary, pile, max_i32(n, n_room));
    while (status == STATUS_OK && next_field(&file, &field, &is_broken)) {
        if (field.wire != 2)
            continue;
        if (field.number == 1) {
            status = read_piece(field.bytes, id++, pile, vocabulary, fault);
        } else if (field.number == 2) {
            status = read_trainer(field.bytes, n, card, fault);
            has_trainer = true;
        } else if (field.number == 3) {
            status = read_normalizer(field.bytes, card, fault);
        }
    }
    if (status == STATUS_OK && !has_trainer)
        status = refuse(fault, "the trainer's part is missing");
    if (status == STATUS_OK)
        weights_vocabulary_give(vocabulary, card);
    return status;
}
