/* Case of whole texts, with Python's rules for a capital sigma and for the beginnings of words. */
#include "template/jinja_case.h"
#include "template/jinja_letter.h"
#include "template/jinja_value.h"

/* Is this capital sigma final? It is behind a cased letter and not before one; marks in between are
 * skipped. */
static bool is_final_sigma(struct jinja_run *run, struct view text, size_t i, size_t n_bytes)
{
    unsigned before = 0, behind = 0;
    size_t n;
    for (size_t at = i; at > 0; at -= n) {
        before = jinja_letter_traits(jinja_letter_before(text, at, &n));
        if ((before & JINJA_IS_IGNORABLE) == 0 || !jinja_charge(run, 1))
            break;
    }
    for (size_t at = i + n_bytes; at < text.n; at += n) {
        behind = jinja_letter_traits(jinja_letter_at(text, at, &n));
        if ((behind & JINJA_IS_IGNORABLE) == 0 || !jinja_charge(run, 1))
            break;
    }
    bool is_behind = (before & JINJA_IS_CASED) != 0 && (before & JINJA_IS_IGNORABLE) == 0;
    bool is_before = (behind & JINJA_IS_CASED) != 0 && (behind & JINJA_IS_IGNORABLE) == 0;
    return is_behind && !is_before;
}

/* Returns the case that one letter gets. */
static enum jinja_case case_of(enum jinja_change how, unsigned traits, bool is_first,
                               bool follows_cased)
{
    switch (how) {
    case JINJA_TO_UPPER:
        return JINJA_UPPER;
    case JINJA_TO_TITLE:
        return follows_cased ? JINJA_LOWER : JINJA_TITLE;
    case JINJA_TO_CAPITALIZED:
        return is_first ? JINJA_TITLE : JINJA_LOWER;
    case JINJA_TO_SWAPPED:
        return (traits & JINJA_IS_LOWER) != 0 ? JINJA_UPPER : JINJA_LOWER;
    case JINJA_TO_FOLDED:
        return JINJA_FOLD;
    default:
        return JINJA_LOWER;
    }
}

struct jinja_value jinja_case_change(struct jinja_run *run, struct view text, enum jinja_change how)
{
    struct str out;
    str_init(&out);
    bool follows_cased = false;
    if (!jinja_charge(run, (int64_t)(text.n / 4)))
        text.n = 0;
    for (size_t i = 0, n_bytes; i < text.n; i += n_bytes) {
        uint32_t mapped[3], letter = jinja_letter_at(text, i, &n_bytes);
        unsigned traits = jinja_letter_traits(letter);
        enum jinja_case one = case_of(how, traits, i == 0, follows_cased);
        bool keeps = how == JINJA_TO_SWAPPED && (traits & (JINJA_IS_LOWER | JINJA_IS_UPPER)) == 0;
        int n = 1;
        mapped[0] = letter;
        if (one == JINJA_LOWER && letter == 0x3A3 && !keeps)
            mapped[0] = is_final_sigma(run, text, i, n_bytes) ? 0x3C2 : 0x3C3;
        else if (!keeps)
            n = jinja_letter_map(letter, one, mapped);
        for (int k = 0; k < n; k++) {
            char bytes[4];
            str_add(&out, bytes, (size_t)utf8_encode(mapped[k], bytes));
        }
        follows_cased = (traits & JINJA_IS_CASED) != 0;
    }
    return jinja_value_keep(run, &out);
}

static bool is_all(struct view text, unsigned wanted)
{
    for (size_t i = 0, n; i < text.n; i += n) {
        if ((jinja_letter_traits(jinja_letter_at(text, i, &n)) & wanted) == 0)
            return false;
    }
    return true;
}

/* islower() and isupper(): at least one cased letter, and none of the other cases. */
static bool is_of_case(struct view text, unsigned wanted)
{
    bool has_cased = false;
    for (size_t i = 0, n; i < text.n; i += n) {
        unsigned traits = jinja_letter_traits(jinja_letter_at(text, i, &n));
        if ((traits & JINJA_IS_CASED & ~wanted) != 0)
            return false;
        has_cased = has_cased || (traits & wanted) != 0;
    }
    return has_cased;
}

static bool is_title(struct view text)
{
    bool has_cased = false, follows_cased = false;
    for (size_t i = 0, n; i < text.n; i += n) {
        unsigned traits = jinja_letter_traits(jinja_letter_at(text, i, &n));
        bool begins = (traits & (JINJA_IS_UPPER | JINJA_IS_TITLE)) != 0;
        bool is_cased = (traits & JINJA_IS_CASED) != 0;
        if (is_cased && begins == follows_cased)
            return false;
        follows_cased = is_cased;
        has_cased = has_cased || is_cased;
    }
    return has_cased;
}

bool jinja_case_is(struct jinja_run *run, struct view text, enum jinja_test test)
{
    static const unsigned wanted[] = {
        [JINJA_ALL_ALPHA] = JINJA_IS_ALPHA,         [JINJA_ALL_ALNUM] = JINJA_IS_ALNUM,
        [JINJA_ALL_DECIMAL] = JINJA_IS_DECIMAL,     [JINJA_ALL_DIGIT] = JINJA_IS_DIGIT,
        [JINJA_ALL_NUMERIC] = JINJA_IS_NUMERIC,     [JINJA_ALL_SPACE] = JINJA_IS_SPACE,
        [JINJA_ALL_PRINTABLE] = JINJA_IS_PRINTABLE,
    };
    if (!jinja_charge(run, (int64_t)(text.n / 4)))
        return false;
    switch (test) {
    case JINJA_ALL_ASCII:
        for (size_t i = 0; i < text.n; i++) {
            if ((unsigned char)text.at[i] >= 128)
                return false;
        }
        return true;
    case JINJA_ALL_LOWER:
        return is_of_case(text, JINJA_IS_LOWER);
    case JINJA_ALL_UPPER:
        return is_of_case(text, JINJA_IS_UPPER);
    case JINJA_ALL_TITLE:
        return is_title(text);
    case JINJA_ALL_PRINTABLE:
        return is_all(text, JINJA_IS_PRINTABLE);
    default:
        return text.n > 0 && is_all(text, wanted[test]);
    }
}
