/* Fuzzes SentencePiece models: a byte, the text of that length, then a tokenizer.model. An opened
 * model encodes the text into known ids, no more than promised, and decodes them into UTF-8. */
#include "base/mem.h"
#include "serve/model_card.h"
#include "weights/card.h"
#include "weights/sentencepiece.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void encode(const struct tokenizer *tokenizer, struct view text, unsigned flags)
{
    size_t n_max = tokenizer_ids_max(tokenizer, text.n);
    int32_t *ids = mem_take(n_max * sizeof(*ids));
    int32_t n = tokenizer_encode(tokenizer, text, flags, ids, (int32_t)n_max);
    struct detokenizer detokenizer;
    struct str out;
    str_init(&out);
    detokenizer_init(&detokenizer, tokenizer, true);
    for (int32_t i = 0; i < n; i++) {
        CHECK(ids[i] >= 0 && ids[i] < tokenizer_n_tokens(tokenizer));
        detokenizer_add(&detokenizer, ids[i], &out);
    }
    detokenizer_end(&detokenizer, &out);
    str_free(&out);
    mem_give(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 1)
        return 0;
    size_t n_text = data[0] < n - 1 ? data[0] : n - 1;
    struct view text = view_of((const char *)data + 1, n_text);
    struct view file = view_of((const char *)data + 1 + n_text, n - 1 - n_text);
    struct pile pile;
    struct weights_vocabulary vocabulary = { 0 };
    struct weights_card card;
    struct tokenizer *tokenizer = NULL;
    struct fault fault = { "" };
    pile_init(&pile);
    weights_card_init(&card);
    enum status status = weights_sentencepiece(file, 0, &pile, &vocabulary, &card, &fault);
    if (status == STATUS_OK && weights_card_check(&card, "model", &fault) == STATUS_OK &&
        model_card_open_tokenizer(&tokenizer, &card, &fault) == STATUS_OK) {
        encode(tokenizer, text, 0);
        encode(tokenizer, text, TOKENIZER_PARSE_SPECIAL | TOKENIZER_ADD_SPECIAL);
    }
    CHECK(tokenizer != NULL || fault.text[0] != '\0');
    tokenizer_close(tokenizer);
    weights_vocabulary_free(&vocabulary);
    pile_free(&pile);
    return 0;
}
