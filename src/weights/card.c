/* The model's card: defaults, ends of generation, and the checks that every file's card passes. */
#include "weights/card.h"
#include <math.h>
#include <string.h>

void weights_card_init(struct weights_card *card)
{
    *card = (struct weights_card){ .bos_id = -1, .eos_id = -1, .unknown_id = -1, .pad_id = -1 };
}

void weights_card_add_eog(struct weights_card *card, int64_t id)
{
    if (id < 0 || id >= card->n_tokens || card->n_eog == (int32_t)COUNT_OF(card->eog_ids))
        return;
    for (int32_t i = 0; i < card->n_eog; i++)
        if (card->eog_ids[i] == (int32_t)id)
            return;
    card->eog_ids[card->n_eog++] = (int32_t)id;
}

void weights_card_add_known_eog(struct weights_card *card)
{
    static const char *const known[] = {
        "<|eot_id|>",    "<|im_end|>",      "<|end|>",         "<end_of_turn>",
        "<|endoftext|>", "<|end_of_text|>", "<|eom_id|>",      "<|return|>",
        "<|call|>",      "<EOT>",           "<|end_of_turn|>",
    };
    for (int32_t id = 0; id < card->n_tokens; id++) {
        uint8_t type = card->types[id];
        if ((type != TOKEN_CONTROL && type != TOKEN_USER) || card->tokens[id][0] != '<')
            continue;
        struct view token = view_of(card->tokens[id], card->token_bytes[id]);
        for (size_t i = 0; i < COUNT_OF(known); i++)
            if (view_equal_text(token, known[i]))
                weights_card_add_eog(card, id);
    }
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

static bool is_byte_token(const char *text, uint32_t n)
{
    return n == 6 && memcmp(text, "<0x", 3) == 0 && is_hex(text[3]) && is_hex(text[4]) &&
           text[5] == '>';
}

static enum status check_tokens(const struct weights_card *card, const char *label,
                                struct fault *fault)
{
    for (int32_t id = 0; id < card->n_tokens; id++) {
        if (card->token_bytes[id] > CARD_TOKEN_BYTES_MAX)
            return fault_set(fault, STATUS_TOO_LARGE, "%s: token %d has %u bytes, the limit is %d",
                             label, id, card->token_bytes[id], CARD_TOKEN_BYTES_MAX);
        if (card->types[id] < TOKEN_NORMAL || card->types[id] > TOKEN_BYTE)
            return fault_set(fault, STATUS_BAD_INPUT, "%s: token %d has type %d, expected 1 to 6",
                             label, id, card->types[id]);
        if (card->types[id] == TOKEN_BYTE && card->tokenizer == WEIGHTS_TOKENIZER_SPM &&
            !is_byte_token(card->tokens[id], card->token_bytes[id]))
            return fault_set(fault, STATUS_BAD_INPUT,
                             "%s: token %d is a byte but doesn't read <0xHH>", label, id);
        if (card->scores != NULL && !isfinite(card->scores[id]))
            return fault_set(fault, STATUS_BAD_INPUT, "%s: the score of token %d isn't finite",
                             label, id);
    }
    return STATUS_OK;
}

enum status weights_card_check(const struct weights_card *card, const char *label,
                               struct fault *fault)
{
    for (int32_t i = 0; i < card->n_merges; i++) {
        const char *space = card->merges[i][0] != '\0' ? strchr(card->merges[i] + 1, ' ') : NULL;
        if (space == NULL || space[1] == '\0')
            return fault_set(fault, STATUS_BAD_INPUT,
                             "%s: merge %d isn't two words with a space between them", label, i);
    }
    return check_tokens(card, label, fault);
}
