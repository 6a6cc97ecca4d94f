/* Expressions: building the tree, and the automaton of a tree without rules.
 *
 * The tree becomes Thompson's automaton with empty moves. Its sets of states are explored. */
#include "grammar/expr.h"

#include "base/mem.h"
#include <string.h>

enum { THOMPSON_STATES_MAX = 16384, DEPTH_MAX = 256 };

struct expr *expr_new(struct pile *pile, enum expr_kind kind)
{
    struct expr *expr = pile_take(pile, sizeof(*expr));
    expr->kind = kind;
    return expr;
}

void expr_add(struct pile *pile, struct expr *expr, struct expr *part)
{
    if (expr->n == expr->n_max) {
        uint32_t n_max = expr->n_max * 2 + 2;
        struct expr **parts = pile_take(pile, sizeof(*parts) * n_max);
        if (expr->n > 0)
            memcpy(parts, expr->parts, sizeof(*parts) * expr->n);
        expr->parts = parts;
        expr->n_max = n_max;
    }
    expr->parts[expr->n++] = part;
    expr->has_rule |= part->has_rule;
}

struct expr *expr_set(struct pile *pile, struct dfa_set set)
{
    struct expr *expr = expr_new(pile, set.n > 0 ? EXPR_SET : EXPR_NOTHING);
    expr->set = set;
    return expr;
}

struct expr *expr_code(struct pile *pile, uint32_t code)
{
    return expr_set(pile, dfa_set_one(pile, code));
}

struct expr *expr_text(struct pile *pile, struct view text)
{
    struct expr *join = expr_new(pile, EXPR_JOIN);
    uint32_t code;
    for (int n; text.n > 0 && (n = utf8_decode(text, &code)) > 0;
         text = view_of(text.at + n, text.n - (size_t)n))
        expr_add(pile, join, expr_code(pile, code));
    return join;
}

struct expr *expr_repeat(struct pile *pile, struct expr *part, uint32_t min, uint32_t max)
{
    struct expr *expr = expr_new(pile, EXPR_REPEAT);
    expr->min = min;
    expr->max = max;
    expr_add(pile, expr, part);
    return expr;
}

/* ---- Thompson's automaton. ---- */

enum move { MOVE_NONE, MOVE_SET, MOVE_EMPTY, MOVE_START, MOVE_END };
struct state {
    enum move move;
    uint32_t set, to, other; /* other: a second empty move, UINT32_MAX: none */
};
struct thompson {
    struct pile *pile;
    struct state *states;
    uint32_t n, accept, n_words;
    struct dfa_set *sets;
    uint32_t n_sets, n_sets_max, n_classes;
    bool *has;
    bool is_too_large;
};

static uint32_t add_state(struct thompson *t, enum move move, uint32_t to, uint32_t other)
{
    if (t->n == THOMPSON_STATES_MAX) {
        t->is_too_large = true;
        return 0;
    }
    t->states[t->n] = (struct state){ move, 0, to, other };
    return t->n++;
}

static uint32_t set_index(struct thompson *t, struct dfa_set set)
{
    for (uint32_t i = 0; i < t->n_sets; i++)
        if (t->sets[i].n == set.n &&
            memcmp(t->sets[i].ranges, set.ranges, sizeof(*set.ranges) * set.n) == 0)
            return i;
    if (t->n_sets == t->n_sets_max) {
        uint32_t n_max = t->n_sets_max * 2 + 16;
        t->sets = mem_grow(t->sets, sizeof(set) * t->n_sets_max, sizeof(set) * n_max);
        t->n_sets_max = n_max;
    }
    t->sets[t->n_sets] = set;
    return t->n_sets++;
}

static uint32_t put(struct thompson *t, const struct expr *expr, uint32_t next, int depth);

static uint32_t put_repeat(struct thompson *t, const struct expr *expr, uint32_t next, int depth)
{
    uint32_t at = next;
    if (expr->max == EXPR_MANY) {
        at = add_state(t, MOVE_EMPTY, next, UINT32_MAX);
        uint32_t body = put(t, expr->parts[0], at, depth + 1);
        t->states[at].other = body;
    } else {
        for (uint32_t i = expr->min; i < expr->max && !t->is_too_large; i++)
            at = add_state(t, MOVE_EMPTY, next, put(t, expr->parts[0], at, depth + 1));
    }
    for (uint32_t i = 0; i < expr->min && !t->is_too_large; i++) {
        uint32_t n = t->n;
        at = put(t, expr->parts[0], at, depth + 1);
        if (t->n == n)
            break; /* the part is empty, so more of it changes nothing */
    }
    return at;
}

/* Adds the states of an expression in front of next. Returns the first. */
static uint32_t put(struct thompson *t, const struct expr *expr, uint32_t next, int depth)
{
    t->is_too_large |= depth > DEPTH_MAX;
    if (t->is_too_large)
        return 0;
    uint32_t at = next;
    switch (expr->kind) {
    case EXPR_SET:
        at = add_state(t, MOVE_SET, next, UINT32_MAX);
        t->states[at].set = set_index(t, expr->set);
        return at;
    case EXPR_JOIN:
        for (uint32_t i = expr->n; i-- > 0;)
            at = put(t, expr->parts[i], at, depth + 1);
        return at;
    case EXPR_EITHER:
        at = add_state(t, MOVE_NONE, 0, UINT32_MAX);
        for (uint32_t i = expr->n; i-- > 0;)
            at = add_state(t, MOVE_EMPTY, put(t, expr->parts[i], next, depth + 1), at);
        return at;
    case EXPR_REPEAT:
        return put_repeat(t, expr, next, depth);
    case EXPR_START:
        return add_state(t, MOVE_START, next, UINT32_MAX);
    case EXPR_END:
        return add_state(t, MOVE_END, next, UINT32_MAX);
    case EXPR_EMPTY:
        return next;
    default:
        return add_state(t, MOVE_NONE, 0, UINT32_MAX);
    }
}

static bool has_bit(const uint32_t *bits, uint32_t i)
{
    return bits[i / 32] >> i % 32 & 1;
}

/* Adds a state and all that empty moves reach. */
static void reach(const struct thompson *t, uint32_t *bits, uint32_t from, bool at_start,
                  bool at_end)
{
    uint32_t stack[64], n = 0;
    bits[from / 32] |= UINT32_C(1) << from % 32;
    for (uint32_t i = from;;) {
        const struct state *s = &t->states[i];
        bool is_open = s->move == MOVE_EMPTY || (s->move == MOVE_START && at_start) ||
                       (s->move == MOVE_END && at_end);
        uint32_t next[2] = { is_open ? s->to : UINT32_MAX, is_open ? s->other : UINT32_MAX };
        for (int k = 0; k < 2; k++) {
            if (next[k] == UINT32_MAX || has_bit(bits, next[k]))
                continue;
            bits[next[k] / 32] |= UINT32_C(1) << next[k] % 32;
            if (n < COUNT_OF(stack))
                stack[n++] = next[k];
            else
                reach(t, bits, next[k], at_start, at_end);
        }
        if (n == 0)
            return;
        i = stack[--n];
    }
}

static void thompson_start(const void *self, uint32_t *state)
{
    const struct thompson *t = self;
    memset(state, 0, 4 * (size_t)t->n_words);
    reach(t, state, t->n - 1, true, false);
}

static bool thompson_step(const void *self, const uint32_t *state, uint32_t class, uint32_t *next)
{
    const struct thompson *t = self;
    bool is_live = false;
    memset(next, 0, 4 * (size_t)t->n_words);
    for (uint32_t w = 0; w < t->n_words; w++) {
        for (uint32_t bits = state[w]; bits != 0; bits &= bits - 1) {
            const struct state *s = &t->states[w * 32 + (uint32_t)__builtin_ctz(bits)];
            if (s->move != MOVE_SET || !t->has[s->set * t->n_classes + class])
                continue;
            is_live = true;
            if (!has_bit(next, s->to))
                reach(t, next, s->to, false, false);
        }
    }
    return is_live;
}

/* The last word of a state tells nothing more: at the end of the text, END is open. At the start,
 * START was open too, and its moves are in the state already. */
static int32_t thompson_tag(const void *self, const uint32_t *state)
{
    const struct thompson *t = self;
    if (has_bit(state, t->accept))
        return 0;
    uint32_t *bits = mem_take(4 * (size_t)t->n_words);
    for (uint32_t i = 0; i < t->n; i++)
        if (has_bit(state, i) && t->states[i].move == MOVE_END && !has_bit(bits, i))
            reach(t, bits, i, false, true);
    bool is_accepted = has_bit(bits, t->accept);
    mem_give(bits);
    return is_accepted ? 0 : -1;
}

struct dfa *expr_dfa(struct pile *pile, const struct expr *expr, bool is_search)
{
    struct thompson t = { .pile = pile };
    struct dfa_alphabet alphabet;
    struct dfa *dfa = NULL;
    const uint32_t all[2] = { 0, DFA_LAST };
    t.states = mem_take(sizeof(*t.states) * THOMPSON_STATES_MAX);
    t.accept = add_state(&t, MOVE_NONE, 0, UINT32_MAX);
    struct expr *any = expr_repeat(pile, expr_set(pile, dfa_set_of(pile, all, 1)), 0, EXPR_MANY);
    uint32_t first = is_search ? put(&t, any, t.accept, 0) : t.accept;
    first = put(&t, expr, first, 0);
    first = is_search ? put(&t, any, first, 0) : first;
    (void)add_state(&t, MOVE_EMPTY, first, UINT32_MAX);
    t.n_words = (t.n + 31) / 32;
    if (!t.is_too_large && dfa_alphabet_of(pile, t.sets, t.n_sets, &alphabet, &t.has)) {
        t.n_classes = alphabet.n_classes;
        const struct dfa_source source = { &t, t.n_words, thompson_start, thompson_step,
                                           thompson_tag };
        dfa = dfa_explore(pile, &alphabet, &source);
    }
    mem_give(t.states);
    mem_give(t.sets);
    return dfa;
}
