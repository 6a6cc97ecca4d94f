/* Deterministic automata over code points: the terminals of every grammar.
 *
 * An automaton is found by exploring states of any kind (sets of a regular expression's states,
 * tuples of other automata, digits of a bounded number). Then states from which no text can be
 * completed are cut off, so that each transition that is left has a completion. */
#pragma once
#include "base/pile.h"
#include "base/str.h"

enum {
    DFA_NONE = 0xFFFF,
    DFA_STATES_MAX = 20000,
    DFA_CELLS_MAX = 2 << 20, /* states times classes */
    DFA_LAST = 0x10FFFF,     /* the last code point */
    DFA_PILE_MAX = 64 << 20, /* bytes */
};
enum dfa_flag {
    DFA_FREE = 1,  /* accepts, and each code point leads back to this state */
    DFA_OPEN = 4,  /* has a transition */
    DFA_TOTAL = 2, /* each code point has a transition, here and in all later states */
};

struct dfa {
    uint32_t n_states, n_classes, n_spans; /* n_states 0: no text is accepted; the start is 0 */
    uint32_t *firsts;    /* (n_spans) the first code point of each, ascending from 0 */
    uint16_t *classes;   /* (n_spans) */
    uint16_t ascii[128]; /* the class of each of these */
    uint16_t *to;        /* (n_states, n_classes), DFA_NONE: no transition */
    int32_t *tags;       /* (n_states) what is accepted there, -1: nothing */
    uint32_t *least;     /* (n_states) the fewest further code points until it accepts */
    uint8_t *flags;      /* (n_states) enum dfa_flag */
};

/* A set of code points: sorted ranges that do not touch. */
struct dfa_set {
    uint32_t n;
    uint32_t (*ranges)[2]; /* first and last */
};
/* n ranges, each its first and its last code point, in any order. */
struct dfa_set dfa_set_of(struct pile *pile, const uint32_t *ranges, uint32_t n);
struct dfa_set dfa_set_one(struct pile *pile, uint32_t code);
struct dfa_set dfa_set_not(struct pile *pile, struct dfa_set set);
bool dfa_set_has(struct dfa_set set, uint32_t code);

/* A partition of the code points into spans, and the spans into classes. */
struct dfa_alphabet {
    uint32_t n_classes, n_spans;
    uint32_t *firsts;
    uint16_t *classes;
};
/* Returns classes that no set divides. classes of the i-th set: has[i * n_classes + class]. Returns
 * false when there are too many. */
bool dfa_alphabet_of(struct pile *pile, const struct dfa_set *sets, uint32_t n,
                     struct dfa_alphabet *alphabet, bool **has);

/* The states that are explored. A state is n_words words. */
struct dfa_source {
    const void *self;
    uint32_t n_words;
    void (*start)(const void *self, uint32_t *state);
    /* Returns false when no text can follow. */
    bool (*step)(const void *self, const uint32_t *state, uint32_t class, uint32_t *next);
    int32_t (*tag)(const void *self, const uint32_t *state);
};
/* Begins a compilation on this thread: its explorations together take a bounded number of steps. */
void dfa_begin(void);
/* Returns NULL when there would be too many states, when the steps are used up, or when the pile
 * has more than DFA_PILE_MAX bytes. */
struct dfa *dfa_explore(struct pile *pile, const struct dfa_alphabet *alphabet,
                        const struct dfa_source *source);
/* Cuts off what can't be completed, after tags were changed. */
void dfa_trim(struct dfa *dfa);

/* The automaton of all texts; of words, whose tags are their indices (the first of equal ones). */
struct dfa *dfa_of_all(struct pile *pile);
struct dfa *dfa_of_words(struct pile *pile, const struct view *words, uint32_t n);
/* Runs automata side by side. tag gets the tag of each, -1: it does not accept. */
typedef int32_t dfa_choose(const void *arg, const int32_t *tags, uint32_t n);
struct dfa *dfa_product(struct pile *pile, const struct dfa *const *dfas, uint32_t n,
                        dfa_choose *choose, const void *arg);
/* Returns the next state, or DFA_NONE. */
uint32_t dfa_next(const struct dfa *dfa, uint32_t state, uint32_t code);
uint32_t dfa_class(const struct dfa *dfa, uint32_t code);
/* Returns whether a text (valid UTF-8) is accepted, and its tag, else -1. */
int32_t dfa_match(const struct dfa *dfa, struct view text);
