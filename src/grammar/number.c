/* Automata of bounded numbers: digits are compared with those of the bounds while they come. */
#include "grammar/number.h"

#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct digits { /* of the absolute value of a bound */
    int sign;
    uint32_t n_whole, n_part;
    char whole[NUMBER_DIGITS_MAX + 2], part[NUMBER_DIGITS_MAX + 2];
};
struct numbers {
    const struct number_options *options;
    struct digits bounds[2]; /* low, high */
    uint8_t codes[16];       /* by class: a digit's value, '-', '.'; 255: none of these */
};
enum { PLACE_START, PLACE_SIGN, PLACE_ZERO, PLACE_WHOLE, PLACE_POINT, PLACE_PART };
enum { LESS, SAME, MORE };
/* The words of a state. */
enum { W_PLACE, W_NEGATIVE, W_NONZERO, W_COUNT, W_COMPARED, W_REST = 6, W_N };

void number_print(double value, char text[40])
{
    for (int precision = 1; precision <= 17; precision++) {
        (void)snprintf(text, 40, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

/* Writes the digits of a value without an exponent. */
static void read_digits(double value, struct digits *out)
{
    char text[40], all[32];
    number_print(value < 0 ? -value : value, text);
    *out = (struct digits){ .sign = value < 0 ? -1 : value > 0 };
    const char *exponent = strchr(text, 'e');
    long point = exponent != NULL ? strtol(exponent + 1, NULL, 10) : 0;
    uint32_t n = 0;
    bool is_behind = false;
    for (const char *at = text; *at != '\0' && at != exponent; at++) {
        is_behind |= *at == '.';
        if (*at != '.' && n < sizeof(all))
            all[n++] = *at;
        point += !is_behind && *at != '.';
    }
    for (long i = point < 0 ? point : 0; i < (long)n || i < point; i++) {
        char digit = i >= 0 && i < (long)n ? all[i] : '0';
        if (i < point && (out->n_whole > 0 || digit != '0') && out->n_whole <= NUMBER_DIGITS_MAX)
            out->whole[out->n_whole++] = digit;
        else if (i >= point && out->n_part <= NUMBER_DIGITS_MAX)
            out->part[out->n_part++] = digit;
    }
    while (out->n_part > 0 && out->part[out->n_part - 1] == '0')
        out->n_part--;
    if (out->n_whole == 0)
        out->whole[out->n_whole++] = '0';
}

static void start(const void *self, uint32_t *state)
{
    (void)self;
    memset(state, 0, sizeof(*state) * W_N);
    state[W_COMPARED] = state[W_COMPARED + 1] = SAME;
}

static uint32_t compare(uint32_t before, uint32_t digit, char other)
{
    uint32_t value = (uint32_t)(other - '0');
    return before != SAME ? before : digit < value ? LESS : digit > value ? MORE : SAME;
}

static bool has_bound(const struct numbers *s, int i)
{
    return i == 0 ? s->options->low.is_there : s->options->high.is_there;
}

/* Takes a digit of the whole part. */
static void take_whole(const struct numbers *s, uint32_t digit, uint32_t *next)
{
    uint32_t n = next[W_COUNT], n_most = 0;
    for (int i = 0; i < 2; i++) {
        const struct digits *b = &s->bounds[i];
        if (!has_bound(s, i))
            continue;
        if (n < b->n_whole)
            next[W_COMPARED + i] = compare(next[W_COMPARED + i], digit, b->whole[n]);
        n_most = b->n_whole + 1 > n_most ? b->n_whole + 1 : n_most;
    }
    next[W_COUNT] = n < n_most ? n + 1 : n;
    next[W_NONZERO] |= digit != 0;
    if (s->options->divisor > 1)
        next[W_REST] = (next[W_REST] * 10 + digit) % s->options->divisor;
}

/* Ends the whole part: a number with more digits is larger. */
static void end_whole(const struct numbers *s, uint32_t *state)
{
    for (int i = 0; i < 2; i++)
        if (has_bound(s, i) && state[W_COUNT] != s->bounds[i].n_whole)
            state[W_COMPARED + i] = state[W_COUNT] < s->bounds[i].n_whole ? LESS : MORE;
    state[W_COUNT] = 0;
}

static bool take_part(const struct numbers *s, uint32_t digit, uint32_t *next)
{
    uint32_t n = next[W_COUNT], n_most = 0;
    const struct number_options *o = s->options;
    if (o->is_integer && (digit != 0 || n > 0))
        return false;
    if (o->n_digits_max >= 0 && n >= (uint32_t)o->n_digits_max)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct digits *b = &s->bounds[i];
        if (!has_bound(s, i))
            continue;
        next[W_COMPARED + i] =
            compare(next[W_COMPARED + i], digit, n < b->n_part ? b->part[n] : '0');
        n_most = b->n_part > n_most ? b->n_part : n_most;
    }
    if (o->n_digits_max > (int32_t)n_most)
        n_most = (uint32_t)o->n_digits_max;
    if (o->is_integer)
        n_most = 1;
    next[W_COUNT] = n < n_most ? n + 1 : n;
    next[W_NONZERO] |= digit != 0;
    return true;
}

static bool step(const void *self, const uint32_t *state, uint32_t class, uint32_t *next)
{
    const struct numbers *s = self;
    uint8_t code = s->codes[class];
    memcpy(next, state, sizeof(*next) * W_N);
    switch (state[W_PLACE]) {
    case PLACE_START:
        next[W_PLACE] = PLACE_SIGN;
        next[W_NEGATIVE] = code == '-';
        if (code == '-')
            return true;
        /* fall through */
    case PLACE_SIGN:
        if (code > 9)
            return false;
        next[W_PLACE] = code == 0 ? PLACE_ZERO : PLACE_WHOLE;
        take_whole(s, code, next);
        return true;
    case PLACE_WHOLE:
    case PLACE_ZERO:
        if (code <= 9 && state[W_PLACE] == PLACE_WHOLE) {
            take_whole(s, code, next);
            return true;
        }
        end_whole(s, next);
        next[W_PLACE] = PLACE_POINT;
        return code == '.' && (!s->options->is_integer || s->options->allows_zero);
    default:
        next[W_PLACE] = PLACE_PART;
        return code <= 9 && take_part(s, code, next);
    }
}

/* Returns whether the value is on the right side of a bound. */
static bool is_within(const struct numbers *s, const uint32_t *state, int i)
{
    const struct digits *b = &s->bounds[i];
    const struct number_bound *bound = i == 0 ? &s->options->low : &s->options->high;
    int sign = !state[W_NONZERO] ? 0 : state[W_NEGATIVE] ? -1 : 1;
    int order = sign - b->sign;
    if (!bound->is_there)
        return true;
    if (order == 0 && sign != 0) {
        uint32_t compared = state[W_COMPARED + i];
        if (compared == SAME && state[W_COUNT] < b->n_part)
            compared = LESS;
        order = ((int)compared - SAME) * sign;
    }
    return order == 0 ? !bound->is_exclusive : i == 0 ? order > 0 : order < 0;
}

static int32_t tag(const void *self, const uint32_t *state)
{
    const struct numbers *s = self;
    uint32_t end[W_N];
    memcpy(end, state, sizeof(end));
    if (end[W_PLACE] == PLACE_ZERO || end[W_PLACE] == PLACE_WHOLE)
        end_whole(s, end);
    else if (end[W_PLACE] != PLACE_PART)
        return -1;
    return end[W_REST] == 0 && is_within(s, end, 0) && is_within(s, end, 1) ? 0 : -1;
}

struct dfa *number_dfa(struct pile *pile, const struct number_options *options)
{
    struct numbers s = { .options = options };
    struct dfa_set sets[12];
    struct dfa_alphabet alphabet;
    bool *has;
    read_digits(options->low.value, &s.bounds[0]);
    read_digits(options->high.value, &s.bounds[1]);
    for (uint32_t i = 0; i < COUNT_OF(sets); i++) {
        uint32_t code = i < 10 ? '0' + i : i == 10 ? '-' : '.';
        sets[i] = dfa_set_one(pile, code);
    }
    if (!dfa_alphabet_of(pile, sets, COUNT_OF(sets), &alphabet, &has))
        return NULL;
    memset(s.codes, 255, sizeof(s.codes));
    for (uint32_t i = 0; i < COUNT_OF(sets); i++)
        for (uint32_t c = 0; c < alphabet.n_classes; c++)
            if (has[i * alphabet.n_classes + c])
                s.codes[c] = (uint8_t)(i < 10 ? i : i == 10 ? '-' : '.');
    const struct dfa_source source = { &s, W_N, start, step, tag };
    return dfa_explore(pile, &alphabet, &source);
}
