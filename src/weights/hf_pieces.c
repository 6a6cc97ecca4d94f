/* Pieces and the tokens added to them, as in transformers' tokenizers for tokenizer.model. Added
 * tokens are cut out of the raw text, and SentencePiece gets the text between them. */
#include "weights/hf_pieces.h"
#include "base/file.h"
#include "base/mem.h"
#include "core/limits.h"
#include "weights/foreign.h"
#include "weights/sentencepiece.h"
#include <string.h>

struct reader {
    struct weights_vocabulary *vocabulary;
    struct weights_card *card;
    struct pile *pile;
    struct fault *fault;
    int32_t n_pieces;
    uint8_t *flags; /* (n of the vocabulary) enum added_flag and IS_ADDED */
};
enum { IS_ADDED = 128 };

/* ChatGLM's tokenizer appends these to its pieces in code. */
static const char *const chatglm_tokens[] = { "[MASK]", "[gMASK]", "[sMASK]", "sop", "eop" };

/* Returns how many ids the vocabulary must have room for. */
static int32_t count_ids(const struct weights_tokenizer_source *source, int32_t n_pieces)
{
    int64_t n = n_pieces;
    for (int32_t i = 0; i < source->n_extra; i++)
        n = max_i64(n, source->extra[i].id + 1);
    return (int32_t)min_i64(n, LIMIT_VOCABULARY);
}

static struct view text_of(const struct weights_vocabulary *vocabulary, int32_t id)
{
    return view_of(vocabulary->tokens[id], vocabulary->token_bytes[id]);
}

static enum status add_token(struct reader *r, const struct weights_added *extra)
{
    struct weights_vocabulary *vocabulary = r->vocabulary;
    int32_t known = weights_vocabulary_find(vocabulary, extra->text);
    int64_t id = extra->id >= 0 ? extra->id : known;
    if (id < 0 || extra->text.n == 0)
        return STATUS_OK; /* models name tokens that they never use */
    if (id >= vocabulary->n)
        return fault_set(r->fault, STATUS_BAD_INPUT,
                         "tokenizer.model: the added token %lld is far behind the %d pieces",
                         (long long)id, r->n_pieces);
    bool is_special = (extra->flags & ADDED_SPECIAL) != 0;
    unsigned named = extra->is_weak ? ADDED_NAMED : 0;
    if (extra->is_weak && (r->flags[id] & IS_ADDED)) {
        r->flags[id] |= ADDED_NAMED;
        return STATUS_OK;
    }
    if (known >= 0 && known != id)
        return fault_set(r->fault, STATUS_UNSUPPORTED,
                         "tokenizer.model: the added token %lld reads like piece %d, which is not "
                         "supported",
                         (long long)id, known);
    bool is_same = view_equal(text_of(vocabulary, (int32_t)id), extra->text);
    if ((extra->flags & ADDED_SINGLE_WORD) || (!is_same && vocabulary->types[id] == TOKEN_NORMAL))
        return fault_set(r->fault, STATUS_UNSUPPORTED,
                         "tokenizer.model: the added token %lld %s, which is not supported",
                         (long long)id,
                         (extra->flags & ADDED_SINGLE_WORD) ? "is a single word only"
                                                            : "reads otherwise than its piece");
    if (!is_same || id >= r->n_pieces)
        weights_vocabulary_set(vocabulary, (int32_t)id, extra->text,
                               is_special ? TOKEN_CONTROL : TOKEN_USER);
    r->flags[id] = (uint8_t)((extra->flags & ~(unsigned)ADDED_NORMALIZED) | named | IS_ADDED);
    return STATUS_OK;
}

static bool has_outer_space(struct view text)
{
    static const char spaces[] = " \t\n\r\v\f";
    return text.n > 0 && (memchr(spaces, text.at[0], sizeof(spaces) - 1) != NULL ||
                          memchr(spaces, text.at[text.n - 1], sizeof(spaces) - 1) != NULL);
}

/* Refuses a token that swallows the spaces of another token, since that one would never be
 * found. */
static enum status check_spaces(const struct reader *r)
{
    int32_t spaced = -1, stripping = -1;
    for (int32_t id = 0; id < r->vocabulary->n; id++) {
        if (!(r->flags[id] & IS_ADDED))
            continue;
        if (has_outer_space(text_of(r->vocabulary, id)))
            spaced = id;
        if (r->flags[id] & (ADDED_STRIPS_LEFT | ADDED_STRIPS_RIGHT))
            stripping = id;
    }
    if (spaced < 0 || stripping < 0)
        return STATUS_OK;
    return fault_set(r->fault, STATUS_UNSUPPORTED,
                     "tokenizer.model: the added token %d begins or ends with a space, and token "
                     "%d strips spaces, which is not supported",
                     spaced, stripping);
}

static void list_added(struct reader *r)
{
    int32_t n = r->vocabulary->n;
    struct tokenizer_added *added = pile_take(r->pile, (size_t)n * sizeof(*added));
    struct tokenizer_sentence *sentence = &r->card->sentence;
    sentence->n_pieces = r->n_pieces;
    sentence->added = added;
    for (int32_t id = 0; id < n; id++)
        if (r->flags[id] & IS_ADDED)
            added[sentence->n_added++] =
                (struct tokenizer_added){ id, r->flags[id] & ~(unsigned)IS_ADDED };
}

/* Adds all tokens. Control pieces are at least special tokens of a chat template. */
static enum status add_all(struct reader *r, const struct weights_tokenizer_source *source,
                           int32_t n_glm)
{
    enum status status = STATUS_OK;
    for (int32_t i = 0; i < n_glm && r->n_pieces + i < r->vocabulary->n; i++) {
        weights_vocabulary_set(r->vocabulary, r->n_pieces + i, view_text(chatglm_tokens[i]),
                               TOKEN_CONTROL);
        r->flags[r->n_pieces + i] = IS_ADDED | ADDED_SPECIAL;
    }
    for (int32_t i = 0; i < source->n_extra && status == STATUS_OK; i++)
        status = add_token(r, &source->extra[i]);
    for (int32_t id = 0; id < r->n_pieces; id++)
        if (r->vocabulary->types[id] == TOKEN_CONTROL && r->flags[id] == 0)
            r->flags[id] = IS_ADDED | ADDED_SPECIAL;
    return status;
}

/* "legacy": false has its own rules, see text/spm.c. */
static enum status read_legacy(const struct weights_hf_added_files *files,
                               struct tokenizer_sentence *sentence, struct fault *fault)
{
    struct weights_json_from from = { files->settings, "tokenizer_config.json", fault };
    const struct weights_json_node *unknown = weights_hf_added_special(files, "unk_token");
    const struct weights_json_node *legacy = weights_json_find(files->settings, "legacy");
    bool adds_space = true;
    if (legacy == NULL || legacy->kind != WEIGHTS_JSON_FALSE)
        return STATUS_OK;
    enum status status = weights_json_bool(&from, "add_prefix_space", &adds_space);
    sentence->is_modern = true;
    sentence->adds_prefix = adds_space;
    sentence->unknown = unknown != NULL ? view_of(unknown->text, unknown->n) : view_text("<unk>");
    return status;
}

enum status weights_hf_pieces(const char *path, const struct weights_hf_added_files *files,
                              bool is_chatglm, struct weights_hf_card *hf,
                              struct weights_card *card, struct fault *fault)
{
    char *bytes;
    size_t n_bytes;
    struct weights_tokenizer_source source = { 0 };
    enum status status = weights_hf_added(files, &hf->pile, &source, fault);
    if (status == STATUS_OK)
        status = file_read_regular(path, HF_TOKENIZER_BYTES_MAX, &bytes, &n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    struct view file = view_of(bytes, n_bytes);
    status = weights_foreign_pointer(file, "tokenizer.model", fault);
    if (status != STATUS_OK) {
        mem_give(bytes);
        return status;
    }
    int32_t n_glm = is_chatglm ? (int32_t)COUNT_OF(chatglm_tokens) : 0;
    struct reader r = { .vocabulary = &hf->vocabulary,
                        .card = card,
                        .pile = &hf->pile,
                        .fault = fault,
                        .n_pieces = weights_sentencepiece_count(file) };
    int32_t n_least = max_i32(count_ids(&source, r.n_pieces), r.n_pieces + n_glm);
    status = weights_sentencepiece(file, n_least, &hf->pile, &hf->vocabulary, card, fault);
    mem_give(bytes);
    if (status != STATUS_OK)
        return status;
    r.flags = pile_take(&hf->pile, (size_t)hf->vocabulary.n);
    status = add_all(&r, &source, n_glm);
    if (status == STATUS_OK)
        status = check_spaces(&r);
    list_added(&r);
    card->add_bos = n_glm == 0;
    return status != STATUS_OK ? status : read_legacy(files, &card->sentence, fault);
}
