/* The answers of a directory's tokenizer, for tests/text/pipelines.py: `tokenizer_answers <
 * requests`.
 *
 * A request is a letter, 4 bytes of length, little-endian, and that many bytes:
 *
 *   D  a directory: its tokenizer is the one from here on. Answer: "open", or "refused" and why.
 *   T  a text. Answer: three lists of ids with tabs between them: as it is, with special tokens
 *      around it, and with special tokens in it read as text.
 *   I ids with spaces between them. Answer: their text, in hexadecimal, tabs between: whole, with
 *   special tokens and without; as a stream, with and without.
 *
 * Every answer is a line. */
#include "base/log.h"
#include "base/mem.h"
#include "serve/model_card.h"
#include "weights/hf_card.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 26 };

static struct {
    struct weights_hf_card hf;
    struct tokenizer *tokenizer;
} now;

static void open_directory(const char *path)
{
    struct fault fault = { "" };
    struct weights_card card;
    tokenizer_close(now.tokenizer);
    weights_hf_card_close(&now.hf);
    now.tokenizer = NULL;
    enum status status = weights_hf_card_open(&now.hf, path, NULL, 0, &card, &fault);
    if (status == STATUS_OK)
        status = model_card_open_tokenizer(&now.tokenizer, &card, &fault);
    if (status == STATUS_OK)
        printf("open\n");
    else
        printf("refused %s\n", fault.text);
}

static void print_ids(struct view text, unsigned flags, char end)
{
    size_t n_max = tokenizer_ids_max(now.tokenizer, text.n);
    n_max = n_max < 1 << 22 ? n_max : 1 << 22;
    int32_t *ids = mem_take(n_max * sizeof(*ids));
    int32_t n = tokenizer_encode(now.tokenizer, text, flags, ids, (int32_t)n_max);
    if (n < 0)
        printf("error %d", n);
    for (int32_t i = 0; i < n; i++)
        printf(i == 0 ? "%d" : " %d", ids[i]);
    putchar(end);
    mem_give(ids);
}

static void print_text(struct str *text, char end)
{
    for (size_t i = 0; i < text->n; i++)
        printf("%02x", (unsigned)(unsigned char)text->at[i]);
    putchar(end);
    str_clear(text);
}

static void decode(char *list)
{
    size_t n_max = strlen(list) / 2 + 1;
    int32_t *ids = mem_take(n_max * sizeof(*ids)), n = 0;
    for (char *at = list, *end = list; *at != '\0' && (size_t)n < n_max; at = end) {
        ids[n] = (int32_t)strtol(at, &end, 10);
        if (end == at)
            break;
        n++;
    }
    struct str text;
    str_init(&text);
    for (int skips = 0; skips < 2; skips++) {
        tokenizer_decode(now.tokenizer, ids, n, skips == 0, &text);
        print_text(&text, '\t');
    }
    for (int skips = 0; skips < 2; skips++) {
        struct detokenizer d;
        detokenizer_init(&d, now.tokenizer, skips == 0);
        for (int32_t i = 0; i < n; i++)
            detokenizer_add(&d, ids[i], &text);
        detokenizer_end(&d, &text);
        print_text(&text, skips == 0 ? '\t' : '\n');
    }
    str_free(&text);
    mem_give(ids);
}

static bool read_request(char *kind, char **bytes, size_t *n)
{
    unsigned char head[5];
    if (fread(head, 1, 5, stdin) != 5)
        return false;
    *kind = (char)head[0];
    *n = (size_t)head[1] | (size_t)head[2] << 8 | (size_t)head[3] << 16 | (size_t)head[4] << 24;
    if (*n > BYTES_MAX)
        return false;
    *bytes = mem_take(*n + 1);
    return fread(*bytes, 1, *n, stdin) == *n;
}

int main(void)
{
    char kind, *bytes = NULL;
    size_t n;
    log_set(LOG_ERROR, false);
    while (read_request(&kind, &bytes, &n)) {
        struct view text = view_of(bytes, n);
        if (kind == 'D') {
            open_directory(bytes);
        } else if (now.tokenizer == NULL) {
            printf("closed\n");
        } else if (kind == 'T') {
            print_ids(text, TOKENIZER_PARSE_SPECIAL, '\t');
            print_ids(text, TOKENIZER_PARSE_SPECIAL | TOKENIZER_ADD_SPECIAL, '\t');
            print_ids(text, 0, '\n');
        } else {
            decode(bytes);
        }
        mem_give(bytes);
        bytes = NULL;
        fflush(stdout);
    }
    mem_give(bytes);
    tokenizer_close(now.tokenizer);
    weights_hf_card_close(&now.hf);
    return 0;
}
