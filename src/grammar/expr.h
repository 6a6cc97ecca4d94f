/* An expression of a grammar or a regular expression, as a tree in a pile. */
#pragma once
#include "grammar/dfa.h"

enum expr_kind {
    EXPR_NOTHING, /* accepts no text */
    EXPR_EMPTY,   /* the empty text */
    EXPR_SET,     /* one code point */
    EXPR_JOIN,    /* its parts in turn */
    EXPR_EITHER,  /* one of its parts */
    EXPR_REPEAT,  /* its part, min to max times */
    EXPR_START,   /* the empty text, at the start of the whole text alone */
    EXPR_END,     /* the empty text, at its end alone */
    EXPR_RULE,    /* a rule of the grammar */
};
#define EXPR_MANY UINT32_MAX /* max: no bound */
struct expr {
    enum expr_kind kind;
    bool has_rule; /* somewhere inside */
    struct dfa_set set;
    uint32_t n, n_max; /* parts */
    struct expr **parts;
    uint32_t min, max;
    uint32_t rule;
};
struct expr *expr_new(struct pile *pile, enum expr_kind kind);
void expr_add(struct pile *pile, struct expr *expr, struct expr *part);
struct expr *expr_set(struct pile *pile, struct dfa_set set);
struct expr *expr_code(struct pile *pile, uint32_t code);
struct expr *expr_text(struct pile *pile, struct view text); /* valid UTF-8 */
struct expr *expr_repeat(struct pile *pile, struct expr *part, uint32_t min, uint32_t max);
/* Returns the automaton of an expression without rules. is_search: it may lie anywhere inside of
 * the text. NULL: there would be too many states. */
struct dfa *expr_dfa(struct pile *pile, const struct expr *expr, bool is_search);
