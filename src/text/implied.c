/* GGUF files name a split pattern, give types to tokens, and say whether bos and eos are added. All
 * other steps are those that this kind of tokenizer always has. */
#include "text/implied.h"
#include "core/tokenizer_pre.h"
#include "text/vocab.h"
#include <string.h>

static uint8_t type_of(const struct tokenizer_options *options, int32_t id)
{
    return options->types != NULL ? options->types[id] : TEXT_NORMAL;
}

/* Tokens of these types (bit t = type t) are found in the text; control tokens are special. */
static void add_tokens(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                       unsigned type_bits, struct pile *pile)
{
    struct tokenizer_added *added = NULL;
    int32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            added = pile_take(pile, (size_t)n * sizeof(*added));
        n = 0;
        for (int32_t id = 0; id < options->n_tokens; id++) {
            uint8_t type = type_of(options, id);
            if (type > 31 || (type_bits >> type & 1) == 0 || options->tokens[id][0] == '\0')
                continue;
            unsigned strips = options->strips != NULL ? options->strips[id] : 0;
            unsigned flags = (type != TEXT_USER_DEFINED ? ADDED_SPECIAL : 0u) |
                             (strips & TOKENIZER_STRIP_LEFT ? ADDED_STRIPS_LEFT : 0u) |
                             (strips & TOKENIZER_STRIP_RIGHT ? ADDED_STRIPS_RIGHT : 0u);
            if (added != NULL)
                added[n] = (struct tokenizer_added){ id, flags };
            n++;
        }
    }
    steps->n_added = n;
    steps->added = added;
}

static void add_step(struct tokenizer_step *steps, int32_t *n, enum step_kind kind,
                     const char *text)
{
    steps[(*n)++] = (struct tokenizer_step){
        .kind = kind, .is_regex = true, .pattern = view_text(text), .content = view_text(text)
    };
}

enum status text_implied_bpe(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                             struct pile *pile, struct fault *fault)
{
    const struct tokenizer_pre *pre = tokenizer_pre_find(options->pre);
    if (pre == NULL)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "tokenizer: the split pattern \"%.40s\" is not known",
                         options->pre != NULL ? options->pre : "");
    struct tokenizer_step *of = pile_take(pile, TOKENIZER_STEPS_MAX * sizeof(*of));
    steps->splitters = of;
    if (options->add_space_prefix)
        add_step(of, &steps->n_splitters, STEP_PREPEND, " ");
    for (int i = 0; pre->stages[i] != NULL; i++)
        add_step(of, &steps->n_splitters, STEP_SPLIT, pre->stages[i]);
    add_step(of, &steps->n_splitters, STEP_BYTE_LEVEL, "");
    steps->decoders = of + steps->n_splitters - 1;
    steps->n_decoders = 1;
    steps->has_decoder = true;
    if (options->normalizes_nfc) {
        struct tokenizer_step *nfc = pile_take(pile, sizeof(*nfc));
        nfc->kind = STEP_NFC;
        steps->normalizers = nfc;
        steps->n_normalizers = 1;
    }
    steps->ignores_merges = options->ignore_merges;
    add_tokens(steps, options, 1u << TEXT_CONTROL | 1u << TEXT_USER_DEFINED, pile);
    return STATUS_OK;
}

void text_implied_spm(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                      struct pile *pile)
{
    const struct tokenizer_sentence *sentence = options->sentence;
    unsigned types = 1u << TEXT_CONTROL;
    if (sentence != NULL && sentence->added != NULL) {
        steps->n_added = sentence->n_added;
        steps->added = sentence->added;
        return;
    }
    if (sentence == NULL || sentence->cuts_at_user) /* as llama.cpp does it */
        types |= 1u << TEXT_USER_DEFINED | 1u << TEXT_UNKNOWN;
    add_tokens(steps, options, types, pile);
}

void text_implied_ends(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                       struct pile *pile)
{
    int32_t *ids = pile_take(pile, 2 * sizeof(*ids));
    ids[0] = options->bos_id;
    ids[1] = options->eos_id;
    steps->before = ids;
    steps->behind = ids + 1;
    steps->n_before = options->add_bos && options->bos_id >= 0;
    steps->n_behind = options->add_eos && options->eos_id >= 0;
}
