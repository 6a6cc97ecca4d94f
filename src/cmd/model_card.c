/* A configured model's card: tokenizer and chat template from its file's header. */
#include "cmd/model_card.h"

#include "base/log.h"
#include "base/mem.h"
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

static char *text_of(const struct model_card *card, int32_t id)
{
    if (id < 0 || id >= tokenizer_n_tokens(card->tokenizer))
        return mem_copy_text("");
    struct view piece = tokenizer_piece(card->tokenizer, id, true);
    char *text = mem_take(piece.n + 1);
    memcpy(text, piece.at, piece.n);
    return text;
}

enum status model_card_open(struct model_card *card, const char *name,
                            const struct weights *weights, struct fault *fault)
{
    const struct weights_card *w = weights_card(weights);
    *card = (struct model_card){ .spec = *weights_spec(weights),
                                 .file_bytes = weights_file_bytes(weights),
                                 .bos_id = w->bos_id,
                                 .eos_id = w->eos_id,
                                 .n_eog = w->n_eog };
    enum status status = model_card_open_tokenizer(&card->tokenizer, w, fault);
    if (status != STATUS_OK)
        return status;
    struct fault why;
    if (w->chat_template &&
        chat_template_open(&card->chat_template, w->chat_template, &why) != STATUS_OK)
        log_line(LOG_WARN, "serve", "model %s: its chat template can't be used: %s", name,
                 why.text);
    memcpy(card->eog_ids, w->eog_ids, sizeof card->eog_ids);
    card->bos_text = text_of(card, w->bos_id);
    card->eos_text = text_of(card, w->eos_id);
    snprintf(card->format, sizeof card->format, "%s", weights_format(weights));
    return STATUS_OK;
}

void model_card_close(struct model_card *card)
{
    if (card->tokenizer)
        tokenizer_close(card->tokenizer);
    if (card->chat_template)
        chat_template_close(card->chat_template);
    mem_give(card->bos_text);
    mem_give(card->eos_text);
    *card = (struct model_card){ 0 };
}
