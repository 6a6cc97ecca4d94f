/* Reads regular expressions: a recursive descent, bounded in depth. */
#include "grammar/pattern.h"
#include "grammar/pattern_sets.h"

#include <string.h>

enum { DEPTH_MAX = 100, REPEAT_MAX = 20000 };

struct reader {
    struct pile *pile;
    struct fault *fault;
    struct view text, whole;
    int depth;
    bool ignores_case, is_bad;
    struct expr *ahead[8]; /* look-aheads at the start */
    bool is_not[8];
    int n_ahead;
};

static struct expr *refuse(struct reader *r, const char *what)
{
    if (!r->is_bad)
        (void)fault_set(r->fault, STATUS_UNSUPPORTED,
                        "the regular expression \"%.60s\", at byte %zu: %s", r->whole.at,
                        r->whole.n - r->text.n, what);
    r->is_bad = true;
    r->text.n = 0;
    return expr_new(r->pile, EXPR_EMPTY);
}

static bool next_is(const struct reader *r, const char *text)
{
    return view_starts(r->text, text);
}

static void skip(struct reader *r, size_t n)
{
    r->text = view_of(r->text.at + n, r->text.n - n);
}

static bool take(struct reader *r, const char *text)
{
    bool is_there = next_is(r, text);
    if (is_there)
        skip(r, strlen(text));
    return is_there;
}

static struct expr *read_either(struct reader *r);

/* Reads a decimal number. Returns false when there is none. */
static bool read_number(struct reader *r, uint32_t *out)
{
    size_t n = 0;
    uint64_t value = 0;
    while (n < r->text.n && r->text.at[n] >= '0' && r->text.at[n] <= '9' && n < 9)
        value = value * 10 + (uint64_t)(r->text.at[n++] - '0');
    if (n > 0)
        skip(r, n);
    *out = (uint32_t)value;
    return n > 0;
}

static struct expr *with_case(struct reader *r, struct dfa_set set)
{
    if (!r->ignores_case)
        return expr_set(r->pile, set);
    uint32_t(*more)[2] = pile_take(r->pile, sizeof(*more) * (set.n + 52));
    uint32_t n = 0;
    for (uint32_t i = 0; i < set.n; i++, n++)
        memcpy(more[n], set.ranges[i], sizeof(*more));
    for (uint32_t c = 'a'; c <= 'z'; c++) {
        if (dfa_set_has(set, c) || dfa_set_has(set, c - 32)) {
            more[n][0] = more[n][1] = c;
            more[n + 1][0] = more[n + 1][1] = c - 32;
            n += 2;
        }
    }
    return expr_set(r->pile, dfa_set_of(r->pile, more[0], n));
}

static struct expr *read_escape(struct reader *r)
{
    struct dfa_set set;
    if (r->text.n > 1 && strchr("bBk", r->text.at[1]) != NULL)
        return refuse(r, r->text.at[1] == 'k' ? "back-references are not supported"
                                              : "\\b and \\B are not supported");
    if (r->text.n > 1 && r->text.at[1] >= '1' && r->text.at[1] <= '9')
        return refuse(r, "back-references are not supported");
    size_t n = pattern_sets_escape(r->pile, r->text, &set, r->fault);
    if (n == 0) {
        r->is_bad = true;
        r->text.n = 0;
        return expr_new(r->pile, EXPR_EMPTY);
    }
    skip(r, n);
    return with_case(r, set);
}

static struct expr *read_group(struct reader *r)
{
    if (next_is(r, "(?=") || next_is(r, "(?!") || next_is(r, "(?<=") || next_is(r, "(?<!"))
        return refuse(r, "a look-around is supported only behind the ^ at the start, and only "
                         "one that looks ahead");
    skip(r, 1);
    if (take(r, "?<")) {
        size_t n = 0;
        while (n < r->text.n && r->text.at[n] != '>')
            n++;
        if (n == r->text.n)
            return refuse(r, "a group's name has no end");
        skip(r, n + 1);
    } else if (next_is(r, "?") && !take(r, "?:")) {
        return refuse(r, "this kind of group is not supported");
    }
    struct expr *inside = read_either(r);
    if (!r->is_bad && !take(r, ")"))
        return refuse(r, "a ) is missing");
    return inside;
}

static struct expr *read_atom(struct reader *r)
{
    static const uint32_t no_line_end[6] = { '\n', '\n', '\r', '\r', 0x2028, 0x2029 };
    struct dfa_set set;
    uint32_t code;
    if (next_is(r, "("))
        return read_group(r);
    if (next_is(r, "\\"))
        return read_escape(r);
    if (take(r, "."))
        return expr_set(r->pile, dfa_set_not(r->pile, dfa_set_of(r->pile, no_line_end, 3)));
    if (take(r, "^"))
        return expr_new(r->pile, EXPR_START);
    if (take(r, "$"))
        return expr_new(r->pile, EXPR_END);
    if (take(r, "[")) {
        size_t n = pattern_sets_class(r->pile, r->text, &set, r->fault);
        if (n == 0) {
            r->is_bad = true;
            r->text.n = 0;
            return expr_new(r->pile, EXPR_EMPTY);
        }
        skip(r, n);
        return with_case(r, set);
    }
    if (strchr("*+?", r->text.at[0]) != NULL)
        return refuse(r, "there is nothing to repeat");
    int n = utf8_decode(r->text, &code);
    skip(r, (size_t)n);
    return with_case(r, dfa_set_one(r->pile, code));
}

/* Reads {m}, {m,} or {m,n}. Returns false, having read nothing, when it is no quantifier. */
static bool read_counts(struct reader *r, uint32_t *min, uint32_t *max)
{
    struct view before = r->text;
    bool is_one = take(r, "{") && read_number(r, min);
    *max = *min;
    if (is_one && take(r, ",") && !read_number(r, max))
        *max = EXPR_MANY;
    if (is_one && take(r, "}"))
        return true;
    r->text = before;
    return false;
}

static struct expr *read_repeated(struct reader *r)
{
    struct expr *atom = read_atom(r);
    while (!r->is_bad && r->text.n > 0) {
        uint32_t min = 0, max = EXPR_MANY;
        if (take(r, "+"))
            min = 1;
        else if (take(r, "?"))
            max = 1;
        else if (!take(r, "*") && !read_counts(r, &min, &max))
            break;
        (void)take(r, "?"); /* lazy or not, the texts are the same */
        if (max < min)
            return refuse(r, "the bounds of a repetition are in the wrong order");
        if (min > REPEAT_MAX || (max != EXPR_MANY && max > REPEAT_MAX))
            return refuse(r, "a repetition is too long");
        atom = expr_repeat(r->pile, atom, min, max);
    }
    return atom;
}

static struct expr *read_join(struct reader *r)
{
    struct expr *join = expr_new(r->pile, EXPR_JOIN);
    while (r->text.n > 0 && !next_is(r, "|") && !next_is(r, ")"))
        expr_add(r->pile, join, read_repeated(r));
    return join;
}

static struct expr *read_either(struct reader *r)
{
    struct expr *either = expr_new(r->pile, EXPR_EITHER);
    if (++r->depth > DEPTH_MAX)
        return refuse(r, "groups are nested too deeply");
    do
        expr_add(r->pile, either, read_join(r));
    while (take(r, "|"));
    r->depth--;
    return either->n == 1 ? either->parts[0] : either;
}

/* Reads the look-aheads behind a ^ at the start. */
static void read_ahead(struct reader *r)
{
    struct view before = r->text;
    bool has_start = take(r, "^");
    while (!r->is_bad && (next_is(r, "(?=") || next_is(r, "(?!"))) {
        if (!has_start || r->n_ahead == COUNT_OF(r->ahead)) {
            (void)refuse(r, has_start ? "it has too many look-aheads"
                                      : "a look-ahead is supported only behind a ^");
            return;
        }
        r->is_not[r->n_ahead] = next_is(r, "(?!");
        skip(r, 3);
        struct expr *join = expr_new(r->pile, EXPR_JOIN);
        expr_add(r->pile, join, expr_new(r->pile, EXPR_START));
        expr_add(r->pile, join, read_either(r));
        if (!r->is_bad && !take(r, ")"))
            (void)refuse(r, "a ) is missing");
        r->ahead[r->n_ahead++] = join;
    }
    if (r->n_ahead == 0 && !r->is_bad)
        r->text = before;
}

static struct expr *read_all(struct reader *r)
{
    bool has_ahead = r->n_ahead > 0;
    struct expr *all = read_either(r);
    if (!r->is_bad && r->text.n > 0)
        return refuse(r, "a ) has no (");
    if (has_ahead && all->kind == EXPR_EITHER && all->n > 1)
        return refuse(r, "a look-ahead beside alternatives is not supported");
    if (!has_ahead)
        return all;
    struct expr *join = expr_new(r->pile, EXPR_JOIN);
    expr_add(r->pile, join, expr_new(r->pile, EXPR_START));
    expr_add(r->pile, join, all);
    return join;
}

enum status pattern_read(struct pile *pile, struct view pattern, bool ignores_case,
                         struct expr **out, struct fault *fault)
{
    struct reader r = { .pile = pile, .fault = fault, .text = pattern, .whole = pattern };
    r.ignores_case = ignores_case;
    *out = read_all(&r);
    return r.is_bad ? STATUS_UNSUPPORTED : STATUS_OK;
}

static int32_t choose_ahead(const void *arg, const int32_t *tags, uint32_t n)
{
    const struct reader *r = arg;
    for (uint32_t i = 1; i < n; i++)
        if ((tags[i] >= 0) == r->is_not[i - 1])
            return -1;
    return tags[0];
}

enum status pattern_dfa(struct pile *pile, struct view pattern, bool is_whole, struct dfa **out,
                        struct fault *fault)
{
    struct reader r = { .pile = pile, .fault = fault, .text = pattern, .whole = pattern };
    const struct dfa *dfas[1 + COUNT_OF(r.ahead)];
    *out = NULL;
    read_ahead(&r);
    struct expr *all = read_all(&r);
    if (r.is_bad)
        return STATUS_UNSUPPORTED;
    dfas[0] = *out = expr_dfa(pile, all, !is_whole);
    bool is_whole_too = *out != NULL;
    for (int i = 0; i < r.n_ahead && is_whole_too; i++) {
        dfas[1 + i] = expr_dfa(pile, r.ahead[i], true);
        is_whole_too = dfas[1 + i] != NULL;
    }
    if (is_whole_too && r.n_ahead > 0)
        *out = dfa_product(pile, dfas, (uint32_t)r.n_ahead + 1, choose_ahead, &r);
    if (!is_whole_too || *out == NULL)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "the regular expression \"%.60s\" needs too many states", pattern.at);
    return STATUS_OK;
}
