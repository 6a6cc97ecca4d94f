/* The text is encoded without special tokens, cut, decoded, and encoded again with them, since a
 * shorter text may have other tokens at its end. */
#include "api/truncate.h"

#include "base/mem.h"
#include "base/str.h"
#include "text/tokenizer.h"
#include <string.h>

enum { TRIES_MAX = 16, MORE_MAX = 256, CHARACTER_BYTES_MAX = 4 };

/* Leaves out what can't fit in any case. */
static struct view shorten(struct view text, int32_t n_tokens_max)
{
    size_t n_max = (size_t)n_tokens_max * TRUNCATE_TOKEN_BYTES_MAX;
    if (text.n <= n_max)
        return text;
    while (n_max > 0 && ((unsigned char)text.at[n_max] & 0xC0) == 0x80)
        n_max--;
    return view_of(text.at, n_max);
}

static bool ends_broken(const struct str *text)
{
    return text->n >= 3 && memcmp(text->at + text->n - 3, "\xEF\xBF\xBD", 3) == 0;
}

/* Decodes at most the first n ids. A cut character becomes U+FFFD, and some decoders replace with
 * it each byte of the run that it ends. So up to three more tokens are left out until the text ends
 * with a whole character. If that is U+FFFD itself, the shortest text is the one that has none of a
 * cut character. */
static void decode_whole(const struct tokenizer *tokenizer, const int32_t *ids, int32_t n,
                         struct str *out)
{
    int32_t n_best = n;
    size_t n_least = SIZE_MAX;
    for (int32_t i = 0; i < CHARACTER_BYTES_MAX && i < n; i++) {
        str_clear(out);
        tokenizer_decode(tokenizer, ids, n - i, true, out);
        if (!ends_broken(out))
            return;
        if (out->n < n_least) {
            n_least = out->n;
            n_best = n - i;
        }
    }
    str_clear(out);
    tokenizer_decode(tokenizer, ids, n_best, true, out);
}

struct view api_truncate(const struct api_model *model, struct view text, unsigned flags,
                         struct pile *pile)
{
    const struct tokenizer *tokenizer = model->tokenizer;
    int32_t n_max = model->n_context_max, n_again_max = n_max + MORE_MAX;
    struct view whole = shorten(text, n_max);
    size_t n_ids_max = tokenizer_ids_max(tokenizer, whole.n);
    if (whole.n == text.n && n_ids_max <= (size_t)n_max)
        return text;
    int32_t *again = mem_take(sizeof(*again) * (size_t)n_again_max);
    int32_t n = tokenizer_encode(tokenizer, whole, flags, again, n_max);
    bool is_cut = whole.n == text.n && n != TOKENIZER_TOO_MANY;
    int32_t *ids = is_cut ? NULL : mem_take(sizeof(*ids) * n_ids_max);
    int32_t n_all =
        is_cut ? 0
               : tokenizer_encode(tokenizer, whole, flags & ~(unsigned)TOKENIZER_ADD_SPECIAL, ids,
                                  (int32_t)min_i64((int64_t)n_ids_max, INT32_MAX));
    int32_t room = min_i32(n_all, n_max);
    struct str out;
    str_init(&out);
    for (int i = 0; i < TRIES_MAX && !is_cut && room > 0; i++) {
        decode_whole(tokenizer, ids, room, &out);
        n = tokenizer_encode(tokenizer, view_of(out.at, out.n), flags, again, n_again_max);
        is_cut = n >= 0 && n <= n_max;
        room -= n > n_max ? n - n_max : MORE_MAX;
        if (is_cut)
            text = view_of(pile_text(pile, out.at, out.n), out.n);
    }
    mem_give(ids);
    mem_give(again);
    str_free(&out);
    return text;
}
