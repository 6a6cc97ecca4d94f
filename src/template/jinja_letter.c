/* Traits and case of letters: utf8proc's categories and simple mappings, and a table of what they
 * lack. */
#include "template/jinja_letter.h"
#include "template/jinja_letter_table.h"
#include <utf8proc.h>

uint32_t jinja_letter_at(struct view text, size_t i, size_t *n_bytes)
{
    uint32_t letter = 0xFFFD;
    int n = utf8_decode(view_of(text.at + i, text.n - i), &letter);
    *n_bytes = n > 0 ? (size_t)n : 1;
    return letter;
}

uint32_t jinja_letter_before(struct view text, size_t end, size_t *n_bytes)
{
    size_t n = 1;
    while (n < 4 && n < end && ((unsigned char)text.at[end - n] & 0xC0) == 0x80)
        n++;
    uint32_t letter = jinja_letter_at(view_of(text.at, end), end - n, n_bytes);
    if (*n_bytes != n) {
        *n_bytes = 1;
        return 0xFFFD;
    }
    return letter;
}

static bool in_ranges(uint32_t letter, const struct letter_range *ranges, size_t n)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (letter > ranges[middle].last)
            low = middle + 1;
        else if (letter < ranges[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

bool jinja_letter_is_space(uint32_t letter)
{
    return utf8_is_space(letter) || (letter >= 28 && letter <= 31);
}

/* Returns the traits that the category alone determines. */
static unsigned traits_of(utf8proc_category_t category)
{
    switch (category) {
    case UTF8PROC_CATEGORY_LU:
        return JINJA_IS_ALPHA | JINJA_IS_UPPER | JINJA_IS_PRINTABLE;
    case UTF8PROC_CATEGORY_LL:
        return JINJA_IS_ALPHA | JINJA_IS_LOWER | JINJA_IS_PRINTABLE;
    case UTF8PROC_CATEGORY_LT:
        return JINJA_IS_ALPHA | JINJA_IS_TITLE | JINJA_IS_PRINTABLE;
    case UTF8PROC_CATEGORY_LM:
        return JINJA_IS_ALPHA | JINJA_IS_IGNORABLE | JINJA_IS_PRINTABLE;
    case UTF8PROC_CATEGORY_LO:
        return JINJA_IS_ALPHA | JINJA_IS_PRINTABLE;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_SK:
        return JINJA_IS_IGNORABLE | JINJA_IS_PRINTABLE;
    case UTF8PROC_CATEGORY_ND:
        return JINJA_IS_DECIMAL | JINJA_IS_DIGIT | JINJA_IS_NUMERIC | JINJA_IS_PRINTABLE;
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return JINJA_IS_NUMERIC | JINJA_IS_PRINTABLE;
    case UTF8PROC_CATEGORY_CF:
        return JINJA_IS_IGNORABLE;
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return 0;
    default:
        return JINJA_IS_PRINTABLE;
    }
}

unsigned jinja_letter_traits(uint32_t letter)
{
    static const struct {
        const struct letter_range *ranges;
        size_t n;
        unsigned trait;
    } others[] = {
        { other_lower, COUNT_OF(other_lower), JINJA_IS_LOWER },
        { other_upper, COUNT_OF(other_upper), JINJA_IS_UPPER },
        { other_digit, COUNT_OF(other_digit), JINJA_IS_DIGIT },
        { other_numeric, COUNT_OF(other_numeric), JINJA_IS_NUMERIC },
        { other_ignorable, COUNT_OF(other_ignorable), JINJA_IS_IGNORABLE },
    };
    unsigned traits = traits_of(utf8proc_category((utf8proc_int32_t)letter));
    for (size_t i = letter < 128 ? COUNT_OF(others) - 1 : 0; i < COUNT_OF(others); i++) {
        if (in_ranges(letter, others[i].ranges, others[i].n))
            traits |= others[i].trait;
    }
    traits |= jinja_letter_is_space(letter) ? JINJA_IS_SPACE : 0u;
    traits |= letter == ' ' ? JINJA_IS_PRINTABLE : 0u;
    return traits;
}

/* Decimal digits come in runs of ten, from zero to nine. */
int jinja_letter_digit(uint32_t letter)
{
    if (letter < 128)
        return letter >= '0' && letter <= '9' ? (int)letter - '0' : -1;
    int n = 0;
    while (n < 50 && utf8proc_category((utf8proc_int32_t)letter - n) == UTF8PROC_CATEGORY_ND)
        n++;
    return n == 0 ? -1 : (n - 1) % 10;
}

static const struct letter_casing *find_special(uint32_t letter)
{
    size_t low = 0, high = COUNT_OF(special_casing);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (special_casing[middle].letter == letter)
            return &special_casing[middle];
        if (special_casing[middle].letter < letter)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int jinja_letter_map(uint32_t letter, enum jinja_case how, uint32_t out[3])
{
    utf8proc_int32_t c = (utf8proc_int32_t)letter;
    const struct letter_casing *special = letter < 128 ? NULL : find_special(letter);
    if (special != NULL && (how == JINJA_UPPER || how == JINJA_TITLE)) {
        int n = 0;
        for (int i = 0; i < 3; i++) {
            out[i] = how == JINJA_UPPER ? special->upper[i] : special->title[i];
            n += out[i] != 0;
        }
        return n;
    }
    if (how == JINJA_LOWER && letter == 0x130) { /* capital I with a dot */
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    if (how == JINJA_FOLD) {
        utf8proc_int32_t folded[4];
        int boundary = 0;
        utf8proc_ssize_t n =
            utf8proc_decompose_char(c, folded, COUNT_OF(folded), UTF8PROC_CASEFOLD, &boundary);
        for (utf8proc_ssize_t i = 0; i < n && i < 3; i++)
            out[i] = (uint32_t)folded[i];
        return n < 1 || n > 3 ? (out[0] = letter, 1) : (int)n;
    }
    out[0] = (uint32_t)(how == JINJA_UPPER   ? utf8proc_toupper(c)
                        : how == JINJA_TITLE ? utf8proc_totitle(c)
                                             : utf8proc_tolower(c));
    return 1;
}
