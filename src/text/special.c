/* Matching special tokens: a sorted list narrowed byte by byte, so a position costs at most the
 * length of the longest match times log(n), whatever the vocabulary holds. */
#include "text/special.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

static int compare_views(struct view a, struct view b)
{
    int order = memcmp(a.at, b.at, a.n < b.n ? a.n : b.n);
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

struct sort_key {
    struct view text;
    int32_t id;
};

static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *left = a, *right = b;
    int order = compare_views(left->text, right->text);
    return order != 0 ? order : (left->id > right->id) - (left->id < right->id);
}

void text_special_open(struct text_special *special, const struct text_vocab *vocab,
                       unsigned type_bits)
{
    *special = (struct text_special){ 0 };
    struct sort_key *keys = mem_take((size_t)vocab->n_tokens * sizeof(*keys));
    int32_t n = 0;
    for (int32_t id = 0; id < vocab->n_tokens; id++) {
        if ((type_bits >> vocab->types[id] & 1) != 0 && vocab->tokens[id].n > 0)
            keys[n++] = (struct sort_key){ vocab->tokens[id], id };
    }
    qsort(keys, (size_t)n, sizeof(*keys), compare_keys);
    special->ids = mem_take((size_t)n * sizeof(*special->ids));
    for (int32_t i = 0; i < n; i++) {
        if (i > 0 && view_equal(keys[i].text, keys[i - 1].text))
            continue; /* the lowest id of equal texts stays */
        special->ids[special->n++] = keys[i].id;
        special->starts[(unsigned char)keys[i].text.at[0] + 1] = special->n;
    }
    for (int b = 1; b <= 256; b++)
        special->starts[b] = max_i32(special->starts[b], special->starts[b - 1]);
    mem_give(keys);
}

void text_special_close(struct text_special *special)
{
    mem_give(special->ids);
    special->ids = NULL;
}

/* Narrows ids[*low..*high-1], equal in their first `depth` bytes, to those whose next byte is b. */
static void narrow(const struct text_special *special, const struct text_vocab *vocab, size_t depth,
                   unsigned char b, int32_t bounds[2])
{
    for (int side = 0; side < 2; side++) {
        int32_t low = bounds[0], high = bounds[1];
        while (low < high) {
            int32_t middle = low + (high - low) / 2;
            struct view token = vocab->tokens[special->ids[middle]];
            int byte = token.n > depth ? (unsigned char)token.at[depth] : -1;
            if (byte < (int)b + side)
                low = middle + 1;
            else
                high = middle;
        }
        bounds[side] = low;
    }
}

int32_t text_special_match(const struct text_special *special, const struct text_vocab *vocab,
                           struct view text)
{
    if (text.n == 0)
        return -1;
    unsigned char first = (unsigned char)text.at[0];
    int32_t bounds[2] = { special->starts[first], special->starts[first + 1] };
    int32_t found = -1;
    for (size_t depth = 1; bounds[0] < bounds[1]; depth++) {
        int32_t id = special->ids[bounds[0]]; /* the shortest of them sorts first */
        if (vocab->tokens[id].n == depth)
            found = id;
        if (depth == text.n)
            break;
        narrow(special, vocab, depth, (unsigned char)text.at[depth], bounds);
    }
    return found;
}

int32_t text_special_find(const struct text_special *special, const struct text_vocab *vocab,
                          struct view text)
{
    int32_t id = text_special_match(special, vocab, text);
    return id >= 0 && vocab->tokens[id].n == text.n ? id : -1;
}

size_t text_special_search(const struct text_special *special, const struct text_vocab *vocab,
                           struct view text, size_t from, int32_t *id)
{
    *id = -1;
    if (special->n == 0)
        return text.n;
    for (size_t at = from; at < text.n; at++) {
        unsigned char first = (unsigned char)text.at[at];
        if (special->starts[first] == special->starts[first + 1])
            continue;
        *id = text_special_match(special, vocab, view_of(text.at + at, text.n - at));
        if (*id >= 0)
            return at;
    }
    return text.n;
}
