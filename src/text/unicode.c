/* Normal forms. Decomposition, canonical order and composition come from utf8proc, character by
 * character.
 *
 * They are applied in the order of the crate unicode-normalization-alignments, because that order
 * determines which characters of the source each result stands for. Characters that are newer than
 * that crate's tables keep their form and order. */
#include "text/unicode.h"
#include "base/mem.h"
#include <string.h>
#include <utf8proc.h>

enum {
    DECOMPOSED_MAX = 32, /* of one character; U+FDFA has 18 */
    INSERTED_MAX = 32,   /* marks behind one letter */
};

bool unicode_is(enum unicode_class class, uint32_t c)
{
    const struct unicode_table *table = &unicode_tables[class];
    size_t low = 0, high = table->n; /* the number of edges at or below c is odd inside a run */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table->edges[middle] <= c)
            low = middle + 1;
        else
            high = middle;
    }
    return low % 2 == 1;
}

int unicode_lower(uint32_t c, uint32_t out[2])
{
    out[0] = c;
    if (c == 0x130) {
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    int low = 0, high = unicode_tables_n_lower;
    while (low < high) {
        int middle = (low + high) / 2;
        if (unicode_tables_lower[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    const struct unicode_lower *row = &unicode_tables_lower[low];
    if (low < unicode_tables_n_lower && row->first <= c && (c - row->first) % row->step == 0)
        out[0] = (uint32_t)((int32_t)c + row->distance);
    return 1;
}

static utf8proc_int32_t known_to_clusters(uint32_t c)
{
    return (utf8proc_int32_t)(unicode_is(UNICODE_EXTENDING, c) && c >= 0x300 && c != 0x200D ? 0x300
                                                                                            : c);
}

bool unicode_joins(uint32_t left, uint32_t right, int32_t *state)
{
    return !utf8proc_grapheme_break_stateful(known_to_clusters(left), known_to_clusters(right),
                                             state);
}

void unicode_changes_add(struct unicode_changes *changes, uint32_t c, int32_t change)
{
    if (changes->n == changes->capacity) {
        size_t capacity = changes->n < 64 ? 64 : 2 * changes->n, size = sizeof(*changes->at);
        changes->at = mem_grow(changes->at, changes->n * size, capacity * size);
        changes->capacity = capacity;
    }
    changes->at[changes->n++] = (struct unicode_change){ c, change };
}

void unicode_changes_free(struct unicode_changes *changes)
{
    mem_give(changes->at);
    *changes = (struct unicode_changes){ 0 };
}

static int class_of(uint32_t c)
{
    if (c < 0x300 || unicode_is(UNICODE_FROZEN, c))
        return 0;
    return utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
}

/* Does the same by counting, for runs so long that insertion would take quadratic time. */
static void count_marks(struct unicode_change *at, size_t n)
{
    size_t starts[257] = { 0 };
    struct unicode_change *from = mem_take(n * sizeof(*from));
    memcpy(from, at, n * sizeof(*from));
    for (size_t i = 0; i < n; i++)
        starts[class_of(from[i].c) + 1]++;
    for (int class = 1; class <= 256; class ++)
        starts[class] += starts[class - 1];
    for (size_t i = 0; i < n; i++)
        at[starts[class_of(from[i].c)]++] = from[i];
    mem_give(from);
}

/* Sorts marks from `first` on by their classes; equal ones keep their order. */
static void order_marks(struct unicode_changes *changes, size_t first)
{
    if (changes->n > first + INSERTED_MAX) {
        count_marks(changes->at + first, changes->n - first);
        return;
    }
    for (size_t i = first + 1; i < changes->n; i++) {
        struct unicode_change moved = changes->at[i];
        int class = class_of(moved.c);
        size_t k = i;
        for (; k > first && class_of(changes->at[k - 1].c) > class; k--)
            changes->at[k] = changes->at[k - 1];
        changes->at[k] = moved;
    }
}

static int decompose(uint32_t c, unsigned form, utf8proc_int32_t out[DECOMPOSED_MAX])
{
    int options = (int)UTF8PROC_DECOMPOSE | (form & UNICODE_COMPATIBLE ? (int)UTF8PROC_COMPAT : 0);
    int boundary = 0;
    out[0] = (utf8proc_int32_t)c;
    if (c < 0x80 || unicode_is(UNICODE_FROZEN, c))
        return 1;
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, out, DECOMPOSED_MAX,
                                                 (utf8proc_option_t)options, &boundary);
    if (n >= 1 && n <= DECOMPOSED_MAX)
        return (int)n;
    out[0] = (utf8proc_int32_t)c;
    return 1;
}

static bool compose_pair(uint32_t left, uint32_t right, uint32_t *out)
{
    if (right < 0x300)
        return false;
    utf8proc_int32_t pair[3] = { (utf8proc_int32_t)left, (utf8proc_int32_t)right, 0 };
    if (utf8proc_normalize_utf32(pair, 2, UTF8PROC_STABLE | UTF8PROC_COMPOSE) != 1 ||
        unicode_is(UNICODE_FROZEN, (uint32_t)pair[0]))
        return false;
    *out = (uint32_t)pair[0];
    return true;
}

/* Composes starters of changes[first..n-1] with the marks behind them, in place. */
static void compose(struct unicode_changes *changes, size_t first)
{
    size_t starter = SIZE_MAX, to = first;
    int last_class = -1; /* of the last mark kept behind the starter; -1: none */
    for (size_t i = first; i < changes->n; i++) {
        struct unicode_change next = changes->at[i];
        int class = class_of(next.c);
        if (starter != SIZE_MAX && last_class < class) {
            uint32_t whole;
            if (compose_pair(changes->at[starter].c, next.c, &whole)) {
                changes->at[starter].c = whole;
                changes->at[starter].change += next.change - 1;
                continue;
            }
        }
        if (class == 0) {
            starter = to;
            last_class = -1;
        } else if (starter != SIZE_MAX) {
            last_class = class;
        }
        changes->at[to++] = next;
    }
    changes->n = to;
}

void unicode_normalize(struct view text, unsigned form, struct unicode_changes *out)
{
    size_t start = out->n, marks = out->n;
    for (size_t i = 0; i < text.n;) {
        uint32_t c = 0;
        int n = utf8_decode(view_of(text.at + i, text.n - i), &c);
        CHECK(n > 0);
        i += (size_t)n;
        utf8proc_int32_t parts[DECOMPOSED_MAX];
        int n_parts = decompose(c, form, parts);
        for (int k = 0; k < n_parts; k++) {
            if (class_of((uint32_t)parts[k]) == 0) {
                order_marks(out, marks);
                marks = out->n + 1;
            }
            unicode_changes_add(out, (uint32_t)parts[k], k > 0);
        }
    }
    order_marks(out, marks);
    if (form & UNICODE_COMPOSED)
        compose(out, start);
}
