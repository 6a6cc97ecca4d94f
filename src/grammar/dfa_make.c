/* Automata of words, and products of automata. */
#include "grammar/dfa.h"

#include "base/mem.h"
#include <string.h>

/* ---- All texts. ---- */

static void all_start(const void *self, uint32_t *state)
{
    (void)self;
    state[0] = 0;
}

static bool all_step(const void *self, const uint32_t *state, uint32_t class, uint32_t *next)
{
    (void)self;
    (void)class;
    next[0] = state[0];
    return true;
}

static int32_t all_tag(const void *self, const uint32_t *state)
{
    (void)self;
    return (int32_t)state[0];
}

struct dfa *dfa_of_all(struct pile *pile)
{
    struct dfa_alphabet alphabet;
    bool *has;
    const struct dfa_source source = { NULL, 1, all_start, all_step, all_tag };
    CHECK(dfa_alphabet_of(pile, NULL, 0, &alphabet, &has));
    return dfa_explore(pile, &alphabet, &source);
}

/* ---- Words. A state is (depth, a word that has this prefix), found in the sorted list. ---- */

struct words {
    const struct view *words;
    uint32_t n;
    uint32_t *order;  /* words by their code points */
    uint32_t **codes; /* of each word */
    uint32_t *lengths;
    const uint32_t *class_code; /* a code point of each class, UINT32_MAX: of no word */
};

static void words_start(const void *self, uint32_t *state)
{
    (void)self;
    state[0] = 0;
    state[1] = 0;
}

/* A state is (depth, first of the order with this prefix). */
static bool words_step(const void *self, const uint32_t *state, uint32_t class, uint32_t *next)
{
    const struct words *w = self;
    uint32_t depth = state[0], code = w->class_code[class];
    const uint32_t *prefix = w->codes[w->order[state[1]]];
    if (code == UINT32_MAX)
        return false;
    for (uint32_t i = state[1]; i < w->n; i++) {
        uint32_t word = w->order[i];
        if (w->lengths[word] < depth || memcmp(w->codes[word], prefix, 4 * (size_t)depth) != 0)
            return false;
        if (w->lengths[word] > depth && w->codes[word][depth] == code) {
            next[0] = depth + 1;
            next[1] = i;
            return true;
        }
    }
    return false;
}

static int32_t words_tag(const void *self, const uint32_t *state)
{
    const struct words *w = self;
    uint32_t word = w->order[state[1]];
    return w->lengths[word] == state[0] ? (int32_t)word : -1;
}

/* Returns < 0 when word a comes before b. Equal words are in order of their indices. */
static int compare_words(const struct words *w, uint32_t a, uint32_t b)
{
    uint32_t n = w->lengths[a] < w->lengths[b] ? w->lengths[a] : w->lengths[b];
    for (uint32_t i = 0; i < n; i++)
        if (w->codes[a][i] != w->codes[b][i])
            return w->codes[a][i] < w->codes[b][i] ? -1 : 1;
    if (w->lengths[a] != w->lengths[b])
        return w->lengths[a] < w->lengths[b] ? -1 : 1;
    return a < b ? -1 : 1;
}

/* A merge sort: a comparison needs the words. */
static void sort_words(const struct words *w, uint32_t *order, uint32_t *spare, uint32_t n)
{
    if (n < 2)
        return;
    uint32_t half = n / 2, a = 0, b = half, k = 0;
    sort_words(w, order, spare, half);
    sort_words(w, order + half, spare, n - half);
    while (a < half || b < n)
        spare[k++] = b == n || (a < half && compare_words(w, order[a], order[b]) < 0) ? order[a++]
                                                                                      : order[b++];
    memcpy(order, spare, sizeof(*order) * n);
}

struct dfa *dfa_of_words(struct pile *pile, const struct view *words, uint32_t n)
{
    struct words w = { words, n, NULL, NULL, NULL, NULL };
    struct pile scratch;
    struct dfa_alphabet alphabet;
    struct dfa *dfa = NULL;
    uint32_t n_codes = 0;
    size_t n_bytes = 0;
    bool *has;
    pile_init(&scratch);
    w.order = pile_take(&scratch, 4 * ((size_t)n + 1));
    w.codes = pile_take(&scratch, sizeof(*w.codes) * ((size_t)n + 1));
    w.lengths = pile_take(&scratch, 4 * ((size_t)n + 1));
    for (uint32_t i = 0; i < n; i++)
        n_bytes += words[i].n;
    uint32_t *all = pile_take(&scratch, 4 * (n_bytes + 1)), *at = all;
    for (uint32_t i = 0; i < n; i++) {
        struct view rest = words[i];
        w.order[i] = i;
        w.codes[i] = at;
        for (int k; rest.n > 0 && (k = utf8_decode(rest, at)) > 0; at++)
            rest = view_of(rest.at + k, rest.n - (size_t)k);
        w.lengths[i] = (uint32_t)(at - w.codes[i]);
    }
    n_codes = (uint32_t)(at - all);
    sort_words(&w, w.order, pile_take(&scratch, 4 * ((size_t)n + 1)), n);
    unsigned char *is_seen = mem_take(DFA_LAST / 8 + 1);
    struct dfa_set *sets = pile_take(&scratch, sizeof(*sets) * ((size_t)n_codes + 1));
    uint32_t n_sets = 0;
    for (uint32_t i = 0; i < n_codes; i++) {
        if (is_seen[all[i] / 8] >> all[i] % 8 & 1)
            continue;
        is_seen[all[i] / 8] |= (unsigned char)(1 << all[i] % 8);
        sets[n_sets++] = dfa_set_one(&scratch, all[i]);
    }
    mem_give(is_seen);
    if (dfa_alphabet_of(pile, sets, n_sets, &alphabet, &has)) {
        uint32_t *class_code = pile_take(&scratch, 4 * ((size_t)alphabet.n_classes + 1));
        memset(class_code, 0xFF, 4 * (size_t)alphabet.n_classes);
        for (uint32_t i = 0; i < n_sets; i++)
            for (uint32_t c = 0; c < alphabet.n_classes; c++)
                if (has[i * alphabet.n_classes + c])
                    class_code[c] = sets[i].ranges[0][0];
        w.class_code = class_code;
        const struct dfa_source source = { &w, 2, words_start, words_step, words_tag };
        if (n > 0)
            dfa = dfa_explore(pile, &alphabet, &source);
        else
            dfa = pile_take(pile, sizeof(*dfa));
    }
    pile_free(&scratch);
    return dfa;
}

/* ---- Products. ---- */

struct product {
    const struct dfa *const *dfas;
    uint32_t n, n_classes;
    uint16_t *classes; /* (n_classes, n) */
    int32_t *tags;     /* scratch */
    dfa_choose *choose;
    const void *arg;
};

static void product_start(const void *self, uint32_t *state)
{
    const struct product *p = self;
    for (uint32_t i = 0; i < p->n; i++)
        state[i] = p->dfas[i]->n_states > 0 ? 0 : DFA_NONE;
}

static bool product_step(const void *self, const uint32_t *state, uint32_t class, uint32_t *next)
{
    const struct product *p = self;
    for (uint32_t i = 0; i < p->n; i++)
        next[i] =
            state[i] == DFA_NONE
                ? DFA_NONE
                : p->dfas[i]->to[state[i] * p->dfas[i]->n_classes + p->classes[class * p->n + i]];
    return true;
}

static int32_t product_tag(const void *self, const uint32_t *state)
{
    const struct product *p = self;
    for (uint32_t i = 0; i < p->n; i++)
        p->tags[i] = state[i] == DFA_NONE ? -1 : p->dfas[i]->tags[state[i]];
    return p->choose(p->arg, p->tags, p->n);
}

/* Joins the spans of all automata. A class is a tuple of their classes. */
static bool join_alphabets(struct pile *pile, struct product *p, struct dfa_alphabet *alphabet)
{
    uint32_t n_max = 0;
    uint32_t *at = pile_take(pile, 4 * ((size_t)p->n + 1));
    for (uint32_t i = 0; i < p->n; i++)
        n_max += p->dfas[i]->n_spans + 1;
    *alphabet = (struct dfa_alphabet){ 0, 0, pile_take(pile, 4 * ((size_t)n_max + 1)),
                                       pile_take(pile, 2 * ((size_t)n_max + 1)) };
    p->classes = pile_take(pile, 2 * ((size_t)n_max + 1) * p->n);
    for (uint32_t first = 0; first <= DFA_LAST;) {
        uint32_t next = DFA_LAST + 1, c = 0;
        uint16_t *row = p->classes + (size_t)alphabet->n_classes * p->n;
        for (uint32_t i = 0; i < p->n; i++) {
            const struct dfa *dfa = p->dfas[i];
            while (at[i] + 1 < dfa->n_spans && dfa->firsts[at[i] + 1] <= first)
                at[i]++;
            row[i] = dfa->n_spans > 0 ? dfa->classes[at[i]] : 0;
            if (at[i] + 1 < dfa->n_spans && dfa->firsts[at[i] + 1] < next)
                next = dfa->firsts[at[i] + 1];
        }
        while (memcmp(p->classes + (size_t)c * p->n, row, 2 * (size_t)p->n) != 0)
            c++;
        alphabet->n_classes += c == alphabet->n_classes;
        if (alphabet->n_classes >= DFA_NONE)
            return false;
        alphabet->firsts[alphabet->n_spans] = first;
        alphabet->classes[alphabet->n_spans++] = (uint16_t)c;
        first = next;
    }
    return true;
}

struct dfa *dfa_product(struct pile *pile, const struct dfa *const *dfas, uint32_t n,
                        dfa_choose *choose, const void *arg)
{
    struct product p = { .dfas = dfas, .n = n, .choose = choose, .arg = arg };
    struct dfa_alphabet alphabet;
    p.tags = pile_take(pile, sizeof(*p.tags) * ((size_t)n + 1));
    if (!join_alphabets(pile, &p, &alphabet))
        return NULL;
    const struct dfa_source source = { &p, n, product_start, product_step, product_tag };
    return dfa_explore(pile, &alphabet, &source);
}
