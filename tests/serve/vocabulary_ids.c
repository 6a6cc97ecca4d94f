/* Ids of texts by a model's own vocabulary, for the differential tests: `vocabulary_ids PATH
 * [special] [bos] < texts`.
 *
 * PATH is a Hugging Face directory (its tokenizer alone is read) or a GGUF file. A text is 4 bytes
 * of length, little-endian, and its bytes. The answer is a line for each: the ids, a tab, and what
 * decoding them gives, in hexadecimal; or one line "refused" and why. */
#include "base/mem.h"
#include "serve/model_card.h"
#include "weights/gguf_card.h"
#include "weights/hf_card.h"
#include <stdio.h>
#include <string.h>

enum { BYTES_MAX = 1 << 26 };

static void answer(const struct tokenizer *tokenizer, unsigned flags, struct view text)
{
    int32_t n_max = (int32_t)(4 * text.n + 64);
    int32_t *ids = mem_take((size_t)n_max * sizeof(*ids));
    int32_t n = tokenizer_encode(tokenizer, text, flags, ids, n_max);
    struct detokenizer detokenizer;
    struct str back;
    str_init(&back);
    detokenizer_init(&detokenizer, tokenizer, false);
    for (int32_t i = 0; i < n; i++) {
        printf(i == 0 ? "%d" : " %d", ids[i]);
        detokenizer_add(&detokenizer, ids[i], &back);
    }
    detokenizer_end(&detokenizer, &back);
    printf(n < 0 ? "error %d\t" : "\t", n);
    for (size_t i = 0; i < back.n; i++)
        printf("%02x", (unsigned)(unsigned char)back.at[i]);
    printf("\n");
    str_free(&back);
    mem_give(ids);
}

static void answer_all(const struct tokenizer *tokenizer, unsigned flags)
{
    unsigned char b[4];
    while (fread(b, 1, 4, stdin) == 4) {
        size_t n = (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
        if (n > BYTES_MAX)
            return;
        char *text = mem_take(n + 1);
        if (fread(text, 1, n, stdin) == n)
            answer(tokenizer, flags, view_of(text, n));
        mem_give(text);
    }
}

static bool is_gguf(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".gguf") == 0;
}

int main(int argc, char **argv)
{
    struct fault fault = { "" };
    struct weights_card card;
    struct weights_gguf gguf = { 0 };
    struct weights_hf_card hf = { 0 };
    struct tokenizer *tokenizer = NULL;
    unsigned flags = 0;
    for (int i = 2; i < argc; i++)
        flags |= strcmp(argv[i], "special") == 0 ? TOKENIZER_PARSE_SPECIAL : TOKENIZER_ADD_SPECIAL;
    if (argc < 2)
        return 1;
    enum status status = STATUS_OK;
    if (is_gguf(argv[1])) {
        status = weights_gguf_open(&gguf, argv[1], &fault);
        if (status == STATUS_OK)
            status = weights_gguf_card(&gguf, 0, &card, &fault);
    } else {
        status = weights_hf_card_open(&hf, argv[1], NULL, 0, &card, &fault);
    }
    if (status == STATUS_OK)
        status = model_card_open_tokenizer(&tokenizer, &card, &fault);
    if (status != STATUS_OK)
        printf("refused %s\n", fault.text);
    else
        answer_all(tokenizer, flags);
    tokenizer_close(tokenizer);
    return 0;
}
