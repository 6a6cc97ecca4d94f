/* Encodes texts for agreement.py: `agreement CARD.json < texts > ids`.
 *
 * Texts come as a 4-byte little-endian length and bytes; each answer is a line of ids, a tab and
 * "ok" when decoding them gives the text's bytes back, "no" otherwise. */
#include "card.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 1 << 26 };

static bool round_trip(const struct tokenizer *tokenizer, const int32_t *ids, int32_t n,
                       struct view text)
{
    struct str back;
    str_init(&back);
    for (int32_t i = 0; i < n; i++) {
        struct view piece = tokenizer_piece(tokenizer, ids[i], true);
        str_add(&back, piece.at, piece.n);
    }
    struct view whole = view_of(back.at, back.n);
    bool is_equal = view_equal(whole, text);
    str_free(&back);
    return is_equal;
}

static void answer(const struct tokenizer *tokenizer, unsigned flags, struct view text)
{
    int32_t n_max = (int32_t)text.n + 16;
    int32_t *ids = mem_take((size_t)n_max * sizeof(*ids));
    int32_t n = tokenizer_encode(tokenizer, text, flags, ids, n_max);
    for (int32_t i = 0; i < n; i++)
        printf(i == 0 ? "%d" : " %d", ids[i]);
    printf("\t%s\n", n >= 0 && round_trip(tokenizer, ids, n, text) ? "ok" : "no");
    mem_give(ids);
}

int main(int argc, char **argv)
{
    struct fault fault = { "" };
    struct card card;
    struct tokenizer *tokenizer = NULL;
    if (argc < 2 || card_open(&card, argv[1], &fault) != STATUS_OK ||
        tokenizer_open(&tokenizer, &card.options, &fault) != STATUS_OK) {
        fprintf(stderr, "agreement: %s\n", argc < 2 ? "which card?" : fault.text);
        return 1;
    }
    unsigned flags = argc > 2 && strcmp(argv[2], "special") == 0 ? TOKENIZER_PARSE_SPECIAL : 0;
    unsigned char size[4];
    while (fread(size, 1, 4, stdin) == 4) {
        size_t n =
            (size_t)size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
        if (n > TEXT_BYTES_MAX)
            return 1;
        char *text = mem_take(n + 1);
        if (fread(text, 1, n, stdin) != n)
            return 1;
        answer(tokenizer, flags, view_of(text, n));
        mem_give(text);
    }
    tokenizer_close(tokenizer);
    card_close(&card);
    return 0;
}
