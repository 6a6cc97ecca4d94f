/* Makes a configured model's card: tokenizer and chat template from its file's header. */
#include "serve/model_card.h"

#include "weights/weights.h"
#include <stdio.h>
#include <string.h>

enum status model_card_open_tokenizer(struct tokenizer **out, const struct weights_card *w,
                                      struct fault *fault)
{
    *out = NULL;
    if (w->tokenizer == WEIGHTS_TOKENIZER_NONE)
        return fault_set(fault, STATUS_UNSUPPORTED, "%.100s has no tokenizer that we can read",
                         w->name);
    static const enum tokenizer_kind kinds[] = {
        [WEIGHTS_TOKENIZER_SPM] = TOKENIZER_SPM,
        [WEIGHTS_TOKENIZER_BPE] = TOKENIZER_BPE,
        [WEIGHTS_TOKENIZER_UNIGRAM] = TOKENIZER_UNIGRAM,
        [WEIGHTS_TOKENIZER_WORDPIECE] = TOKENIZER_WORDPIECE,
    };
    const struct tokenizer_options options = {
        .kind = kinds[w->tokenizer],
        .n_tokens = w->n_tokens,
        .tokens = w->tokens,
        .token_bytes = w->token_bytes,
        .scores = w->scores,
        .types = w->types,
        .strips = w->strips,
        .n_merges = w->n_merges,
        .merges = w->merges,
        .pre = w->pre,
        .add_bos = w->add_bos,
        .add_eos = w->add_eos,
        .add_space_prefix = w->add_space_prefix,
        .ignore_merges = w->ignore_merges,
        .normalizes_nfc = w->normalizes_nfc,
        .bos_id = w->bos_id,
        .eos_id = w->eos_id,
        .unknown_id = w->unknown_id,
        .sentence = w->has_sentence ? &w->sentence : NULL,
        .steps = w->steps,
    };
    return tokenizer_open(out, &options, fault);
}

enum status model_card_open(struct model_card *card, const char *name,
                            const struct model_template_options *template,
                            const struct weights *weights, struct fault *fault)
{
    const struct weights_card *w = weights_card(weights);
    *card = (struct model_card){ .spec = *weights_spec(weights),
                                 .file_bytes = weights_file_bytes(weights),
                                 .bos_id = w->bos_id,
                                 .eos_id = w->eos_id,
                                 .n_eog = w->n_eog };
    const struct model_template_options own = { 0 };
    struct fault inner = { "" };
    enum status status = model_card_open_tokenizer(&card->tokenizer, w, fault);
    if (status != STATUS_OK)
        return status;
    status = model_template_open(&card->chat_template, w, template != NULL ? template : &own,
                                 &card->chat_fault, &inner);
    if (status != STATUS_OK)
        return fault_set(fault, status, "model %.80s: %.160s", name, inner.text);
    memcpy(card->eog_ids, w->eog_ids, sizeof card->eog_ids);
    snprintf(card->format, sizeof card->format, "%s", weights_format(weights));
    return STATUS_OK;
}

void model_card_close(struct model_card *card)
{
    if (card->tokenizer)
        tokenizer_close(card->tokenizer);
    if (card->chat_template)
        chat_template_close(card->chat_template);
    *card = (struct model_card){ 0 };
}
