/* A sorted list that is narrowed byte by byte. A walk costs at most the length of the longest match
 * times log(n), whatever the set holds. */
#include "text/prefixes.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

struct sort_key {
    struct view text;
    int32_t id, place;
};

static int compare_texts(const struct sort_key *a, const struct sort_key *b)
{
    int order = memcmp(a->text.at, b->text.at, a->text.n < b->text.n ? a->text.n : b->text.n);
    return order != 0 ? order : (a->text.n > b->text.n) - (a->text.n < b->text.n);
}

static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *left = a, *right = b;
    int order = compare_texts(left, right);
    return order != 0 ? order : (left->place > right->place) - (left->place < right->place);
}

void text_prefixes_open(struct text_prefixes *set, const struct view *texts, const int32_t *ids,
                        int32_t n, bool keeps_last)
{
    *set = (struct text_prefixes){ 0 };
    struct sort_key *keys = mem_take((size_t)n * sizeof(*keys));
    int32_t n_keys = 0;
    for (int32_t i = 0; i < n; i++)
        if (texts[i].n > 0)
            keys[n_keys++] = (struct sort_key){ texts[i], ids[i], i };
    qsort(keys, (size_t)n_keys, sizeof(*keys), compare_keys);
    set->texts = mem_take((size_t)n_keys * sizeof(*set->texts));
    set->ids = mem_take((size_t)n_keys * sizeof(*set->ids));
    for (int32_t i = 0; i < n_keys; i++) {
        int32_t neighbour = keeps_last ? i + 1 : i - 1;
        if (neighbour >= 0 && neighbour < n_keys && compare_texts(&keys[i], &keys[neighbour]) == 0)
            continue;
        set->texts[set->n] = keys[i].text;
        set->ids[set->n++] = keys[i].id;
        set->starts[(unsigned char)keys[i].text.at[0] + 1] = set->n;
    }
    for (int b = 1; b <= 256; b++)
        set->starts[b] = max_i32(set->starts[b], set->starts[b - 1]);
    mem_give(keys);
}

void text_prefixes_close(struct text_prefixes *set)
{
    mem_give(set->texts);
    mem_give(set->ids);
    *set = (struct text_prefixes){ 0 };
}

/* Narrows texts[low..high-1], which are equal in their first `depth` bytes, to those with b as
 * their next byte. */
static void narrow(struct text_prefixes_walk *walk, int b)
{
    int32_t bounds[2];
    for (int side = 0; side < 2; side++) {
        int32_t low = walk->low, high = walk->high;
        while (low < high) {
            int32_t middle = low + (high - low) / 2;
            struct view text = walk->set->texts[middle];
            int byte = text.n > walk->depth ? (unsigned char)text.at[walk->depth] : -1;
            if (byte < b + side)
                low = middle + 1;
            else
                high = middle;
        }
        bounds[side] = low;
    }
    walk->low = bounds[0];
    walk->high = bounds[1];
}

void text_prefixes_begin(struct text_prefixes_walk *walk, const struct text_prefixes *set,
                         struct view text)
{
    *walk = (struct text_prefixes_walk){ .set = set, .text = text };
    if (text.n == 0 || set->n == 0)
        return;
    walk->low = set->starts[(unsigned char)*text.at];
    walk->high = set->starts[(unsigned char)*text.at + 1];
    walk->depth = 1;
}

int32_t text_prefixes_next(struct text_prefixes_walk *walk)
{
    while (walk->low < walk->high) {
        int32_t shortest = walk->low; /* the shortest of them sorts first */
        bool is_found = walk->set->texts[shortest].n == walk->depth;
        if (walk->depth == walk->text.n)
            walk->high = walk->low;
        else
            narrow(walk, (unsigned char)walk->text.at[walk->depth]);
        walk->depth++;
        if (is_found)
            return shortest;
    }
    return -1;
}

int32_t text_prefixes_longest(const struct text_prefixes *set, struct view text)
{
    struct text_prefixes_walk walk;
    int32_t found = -1, next;
    text_prefixes_begin(&walk, set, text);
    while ((next = text_prefixes_next(&walk)) >= 0)
        found = next;
    return found;
}
