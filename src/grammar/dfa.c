/* Automata over code points: exploring, trimming, products. */
#include "grammar/dfa.h"

#include "base/hash.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

/* ---- Sets of code points. ---- */

static int by_first(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

struct dfa_set dfa_set_of(struct pile *pile, const uint32_t *ranges, uint32_t n)
{
    struct dfa_set set = { 0, pile_take(pile, sizeof(*set.ranges) * (n + 1)) };
    if (n > 0)
        memcpy(set.ranges, ranges, sizeof(*set.ranges) * n);
    qsort(set.ranges, n, sizeof(*set.ranges), by_first);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *last = set.n > 0 ? set.ranges[set.n - 1] : NULL;
        if (last != NULL && set.ranges[i][0] <= last[1] + 1) {
            if (set.ranges[i][1] > last[1])
                last[1] = set.ranges[i][1];
            continue;
        }
        memmove(set.ranges[set.n++], set.ranges[i], sizeof(*set.ranges));
    }
    return set;
}

struct dfa_set dfa_set_one(struct pile *pile, uint32_t code)
{
    const uint32_t range[2] = { code, code };
    return dfa_set_of(pile, range, 1);
}

struct dfa_set dfa_set_not(struct pile *pile, struct dfa_set set)
{
    struct dfa_set out = { 0, pile_take(pile, sizeof(*out.ranges) * (set.n + 1)) };
    uint32_t from = 0;
    for (uint32_t i = 0; i < set.n; i++) {
        if (set.ranges[i][0] > from) {
            out.ranges[out.n][0] = from;
            out.ranges[out.n++][1] = set.ranges[i][0] - 1;
        }
        from = set.ranges[i][1] + 1;
    }
    if (from <= DFA_LAST) {
        out.ranges[out.n][0] = from;
        out.ranges[out.n++][1] = DFA_LAST;
    }
    return out;
}

bool dfa_set_has(struct dfa_set set, uint32_t code)
{
    uint32_t low = 0, high = set.n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (set.ranges[middle][1] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set.n && set.ranges[low][0] <= code;
}

static int by_code(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts codes and removes double ones. Returns how many are left. */
static uint32_t sort_codes(uint32_t *codes, uint32_t n)
{
    uint32_t n_out = 0;
    qsort(codes, n, sizeof(*codes), by_code);
    for (uint32_t i = 0; i < n; i++)
        if (n_out == 0 || codes[n_out - 1] != codes[i])
            codes[n_out++] = codes[i];
    return n_out;
}

bool dfa_alphabet_of(struct pile *pile, const struct dfa_set *sets, uint32_t n,
                     struct dfa_alphabet *alphabet, bool **has)
{
    uint32_t n_cuts = 1, n_bytes = (n + 7) / 8 + 1;
    for (uint32_t i = 0; i < n; i++)
        n_cuts += 2 * sets[i].n;
    uint32_t *cuts = pile_take(pile, sizeof(*cuts) * n_cuts);
    n_cuts = 1;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < sets[i].n; k++) {
            cuts[n_cuts++] = sets[i].ranges[k][0];
            if (sets[i].ranges[k][1] < DFA_LAST)
                cuts[n_cuts++] = sets[i].ranges[k][1] + 1;
        }
    }
    n_cuts = sort_codes(cuts, n_cuts);
    if ((uint64_t)n_cuts * n_bytes > DFA_CELLS_MAX * 4)
        return false;
    unsigned char *rows = pile_take(pile, (size_t)n_cuts * n_bytes);
    *alphabet = (struct dfa_alphabet){ 0, n_cuts, cuts, pile_take(pile, 2 * (size_t)n_cuts) };
    uint32_t *first_of = pile_take(pile, sizeof(*first_of) * n_cuts);
    for (uint32_t s = 0; s < n_cuts; s++) {
        unsigned char *row = rows + (size_t)s * n_bytes;
        for (uint32_t i = 0; i < n; i++)
            if (dfa_set_has(sets[i], cuts[s]))
                row[i / 8] |= (unsigned char)(1 << i % 8);
        uint32_t c = 0;
        while (c < alphabet->n_classes &&
               memcmp(rows + (size_t)first_of[c] * n_bytes, row, n_bytes) != 0)
            c++;
        if (c == alphabet->n_classes) {
            if (c == DFA_NONE)
                return false;
            first_of[alphabet->n_classes++] = s;
        }
        alphabet->classes[s] = (uint16_t)c;
    }
    *has = pile_take(pile, (size_t)n * alphabet->n_classes + 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < alphabet->n_classes; c++)
            (*has)[i * alphabet->n_classes + c] =
                rows[(size_t)first_of[c] * n_bytes + i / 8] >> i % 8 & 1;
    return true;
}

/* ---- Exploring. ---- */

struct explored {
    uint32_t n, n_words, n_places;
    uint32_t *keys;   /* (n, n_words) */
    uint32_t *places; /* index + 1 */
    size_t n_key_bytes;
};

static uint32_t *key_of(const struct explored *e, uint32_t i)
{
    return e->keys + (size_t)i * e->n_words;
}

static uint32_t place_of(const struct explored *e, const uint32_t *key)
{
    uint32_t at = (uint32_t)hash_fast(key, sizeof(*key) * e->n_words, 0).low & (e->n_places - 1);
    while (e->places[at] != 0 &&
           memcmp(key_of(e, e->places[at] - 1), key, sizeof(*key) * e->n_words) != 0)
        at = (at + 1) & (e->n_places - 1);
    return at;
}

static void grow_places(struct explored *e)
{
    mem_give(e->places);
    e->n_places *= 2;
    e->places = mem_take(sizeof(*e->places) * e->n_places);
    for (uint32_t i = 0; i < e->n; i++)
        e->places[place_of(e, key_of(e, i))] = i + 1;
}

/* Returns the index of a state, a new one if need be; DFA_NONE: there are too many. */
static uint32_t index_of(struct explored *e, const uint32_t *key)
{
    uint32_t at = place_of(e, key);
    if (e->places[at] != 0)
        return e->places[at] - 1;
    size_t n_bytes = sizeof(*key) * e->n_words;
    if (e->n == DFA_STATES_MAX || (e->n + 1) * n_bytes > (size_t)64 << 20)
        return DFA_NONE;
    if ((e->n + 1) * n_bytes > e->n_key_bytes) {
        size_t more = e->n_key_bytes * 2 + n_bytes * 16;
        e->keys = mem_grow(e->keys, e->n_key_bytes, more);
        e->n_key_bytes = more;
    }
    memcpy(key_of(e, e->n), key, n_bytes);
    e->places[at] = ++e->n;
    if (e->n * 2 > e->n_places)
        grow_places(e);
    return e->n - 1;
}

static struct dfa *dfa_make(struct pile *pile, const struct dfa_alphabet *alphabet)
{
    struct dfa *dfa = pile_take(pile, sizeof(*dfa));
    dfa->n_classes = alphabet->n_classes;
    dfa->n_spans = alphabet->n_spans;
    dfa->firsts = alphabet->firsts;
    dfa->classes = alphabet->classes;
    for (uint32_t code = 0, span = 0; code < 128; code++) {
        while (span + 1 < dfa->n_spans && dfa->firsts[span + 1] <= code)
            span++;
        dfa->ascii[code] = dfa->classes[span];
    }
    return dfa;
}

/* Takes the tables of a dfa and fills its tags. */
static void take_states(struct pile *pile, struct dfa *dfa, uint32_t n)
{
    dfa->n_states = n;
    dfa->to = pile_take(pile, sizeof(*dfa->to) * n * dfa->n_classes + 1);
    dfa->tags = pile_take(pile, sizeof(*dfa->tags) * n + 1);
    dfa->least = pile_take(pile, sizeof(*dfa->least) * n + 1);
    dfa->flags = pile_take(pile, n + 1);
}

/* A step looks at a word of a state, or at a member of a set. The slowest known schemas of users
 * take some millions. */
static const uint64_t STEPS_MAX = 400000000;
static _Thread_local uint64_t n_steps; /* of this compilation */

void dfa_begin(void)
{
    n_steps = 0;
}

/* Counts what all classes of a state take. */
static bool is_over(const uint32_t *key, uint32_t n_words, uint32_t n_classes)
{
    uint64_t n = n_words;
    for (uint32_t i = 0; i < n_words; i++)
        n += (uint64_t)__builtin_popcount(key[i]);
    n_steps += n * n_classes;
    return n_steps > STEPS_MAX;
}

struct dfa *dfa_explore(struct pile *pile, const struct dfa_alphabet *alphabet,
                        const struct dfa_source *source)
{
    struct explored e = { .n_words = source->n_words, .n_places = 64 };
    struct dfa *dfa = dfa_make(pile, alphabet);
    uint32_t n_classes = alphabet->n_classes, *next = mem_take(4 * source->n_words + 4);
    uint16_t *to = NULL;
    size_t n_cells = 0;
    bool is_whole = pile->n_bytes <= DFA_PILE_MAX;
    e.places = mem_take(sizeof(*e.places) * e.n_places);
    source->start(source->self, next);
    (void)index_of(&e, next);
    for (uint32_t i = 0; i < e.n && is_whole; i++) {
        is_whole = (size_t)(i + 1) * n_classes <= DFA_CELLS_MAX &&
                   !is_over(key_of(&e, i), source->n_words, n_classes);
        if (is_whole && (i + 1) * (size_t)n_classes > n_cells) {
            size_t more = n_cells * 2 + 16 * n_classes;
            to = mem_grow(to, sizeof(*to) * n_cells, sizeof(*to) * more);
            n_cells = more;
        }
        for (uint32_t c = 0; c < n_classes && is_whole; c++) {
            bool is_live = source->step(source->self, key_of(&e, i), c, next);
            uint32_t j = is_live ? index_of(&e, next) : DFA_NONE;
            is_whole = !is_live || j != DFA_NONE;
            to[(size_t)i * n_classes + c] = (uint16_t)j;
        }
    }
    if (is_whole) {
        take_states(pile, dfa, e.n);
        memcpy(dfa->to, to, sizeof(*to) * e.n * n_classes);
        for (uint32_t i = 0; i < e.n; i++)
            dfa->tags[i] = source->tag(source->self, key_of(&e, i));
        dfa_trim(dfa);
    }
    mem_give(e.keys);
    mem_give(e.places);
    mem_give(next);
    mem_give(to);
    return is_whole ? dfa : NULL;
}

/* ---- Trimming. ---- */

/* Sets least: rounds of a breadth-first search backwards, by lists of predecessors. */
static void find_least(struct dfa *dfa)
{
    uint32_t n = dfa->n_states, k = dfa->n_classes, n_queue = 0, n_edges = 0;
    uint32_t *heads = mem_take(sizeof(*heads) * (n + 2)),
             *queue = mem_take(sizeof(*queue) * (n + 1));
    for (uint32_t i = 0; i < n * k; i++)
        if (dfa->to[i] != DFA_NONE) {
            heads[dfa->to[i] + 2]++;
            n_edges++;
        }
    uint32_t *from = mem_take(sizeof(*from) * (n_edges + 1));
    for (uint32_t i = 1; i < n + 2; i++)
        heads[i] += heads[i - 1];
    for (uint32_t i = 0; i < n * k; i++)
        if (dfa->to[i] != DFA_NONE)
            from[heads[dfa->to[i] + 1]++] = i / k;
    for (uint32_t i = 0; i < n; i++) {
        dfa->least[i] = dfa->tags[i] >= 0 ? 0 : UINT32_MAX;
        if (dfa->tags[i] >= 0)
            queue[n_queue++] = i;
    }
    for (uint32_t at = 0; at < n_queue; at++)
        for (uint32_t e = heads[queue[at]]; e < heads[queue[at] + 1]; e++)
            if (dfa->least[from[e]] == UINT32_MAX) {
                dfa->least[from[e]] = dfa->least[queue[at]] + 1;
                queue[n_queue++] = from[e];
            }
    mem_give(heads);
    mem_give(queue);
    mem_give(from);
}

static void find_flags(struct dfa *dfa)
{
    uint32_t k = dfa->n_classes;
    for (uint32_t i = 0; i < dfa->n_states; i++) {
        uint32_t n_here = 0, n_open = 0;
        for (uint32_t c = 0; c < k; c++) {
            n_here += dfa->to[i * k + c] == i;
            n_open += dfa->to[i * k + c] != DFA_NONE;
        }
        bool is_free = n_here == k && dfa->tags[i] >= 0;
        dfa->flags[i] = (uint8_t)(DFA_TOTAL | (is_free ? DFA_FREE : 0) | (n_open ? DFA_OPEN : 0));
    }
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = dfa->n_states; i-- > 0;) {
            bool is_total = dfa->flags[i] & DFA_TOTAL;
            for (uint32_t c = 0; c < k && is_total; c++)
                is_total = dfa->to[i * k + c] != DFA_NONE &&
                           (dfa->flags[dfa->to[i * k + c]] & DFA_TOTAL) != 0;
            if (!is_total && (dfa->flags[i] & DFA_TOTAL) != 0) {
                dfa->flags[i] &= (uint8_t)~DFA_TOTAL;
                is_new = true;
            }
        }
    }
}

void dfa_trim(struct dfa *dfa)
{
    uint32_t k = dfa->n_classes, n = 0;
    if (dfa->n_states == 0)
        return;
    find_least(dfa);
    if (dfa->least[0] == UINT32_MAX) {
        dfa->n_states = 0;
        return;
    }
    uint16_t *names = mem_take(sizeof(*names) * dfa->n_states);
    for (uint32_t i = 0; i < dfa->n_states; i++)
        names[i] = dfa->least[i] == UINT32_MAX ? DFA_NONE : (uint16_t)n++;
    for (uint32_t i = 0; i < dfa->n_states; i++) {
        if (names[i] == DFA_NONE)
            continue;
        for (uint32_t c = 0; c < k; c++) {
            uint32_t to = dfa->to[i * k + c];
            dfa->to[names[i] * k + c] = to == DFA_NONE ? DFA_NONE : names[to];
        }
        dfa->tags[names[i]] = dfa->tags[i];
        dfa->least[names[i]] = dfa->least[i];
    }
    dfa->n_states = n;
    mem_give(names);
    find_flags(dfa);
}

/* ---- Walking. ---- */

uint32_t dfa_class(const struct dfa *dfa, uint32_t code)
{
    if (code < 128)
        return dfa->ascii[code];
    uint32_t low = 0, high = dfa->n_spans;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (dfa->firsts[middle] <= code)
            low = middle;
        else
            high = middle;
    }
    return dfa->classes[low];
}

uint32_t dfa_next(const struct dfa *dfa, uint32_t state, uint32_t code)
{
    return dfa->to[state * dfa->n_classes + dfa_class(dfa, code)];
}

int32_t dfa_match(const struct dfa *dfa, struct view text)
{
    uint32_t state = dfa->n_states > 0 ? 0 : DFA_NONE, code;
    while (text.n > 0 && state != DFA_NONE) {
        int n = utf8_decode(text, &code);
        if (n <= 0)
            return -1;
        state = dfa_next(dfa, state, code);
        text = view_of(text.at + n, text.n - (size_t)n);
    }
    return state != DFA_NONE ? dfa->tags[state] : -1;
}
