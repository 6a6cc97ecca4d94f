/* Sets of code points by property. General categories come from utf8proc (Unicode 15.0 in Debian
 * 12) and are corrected to 16.0; the other properties are unions of categories and a few ranges.
 * The ranges are those of the Unicode Character Database 16.0. */
#include "text/letters.h"
#include "text/letters_data.h"
#include "base/mem.h"
#include <string.h>
#include <utf8proc.h>

void letters_add(struct letters *set, uint32_t from, uint32_t to)
{
    for (uint32_t c = from; c <= to && c < LETTERS_CODES; c++) {
        if (c % 32 == 0 && to - c >= 31) {
            set->at[c / 32] = UINT32_MAX;
            c += 31;
        } else {
            set->at[c / 32] |= 1u << c % 32;
        }
    }
}

void letters_join(struct letters *set, const struct letters *other)
{
    for (size_t i = 0; i < LETTERS_WORDS; i++)
        set->at[i] |= other->at[i];
}

void letters_keep(struct letters *set, const struct letters *other)
{
    for (size_t i = 0; i < LETTERS_WORDS; i++)
        set->at[i] &= other->at[i];
}

void letters_invert(struct letters *set)
{
    for (size_t i = 0; i < LETTERS_WORDS; i++)
        set->at[i] = ~set->at[i];
}

#define BIT(name) (1u << UTF8PROC_CATEGORY_##name)
#define LETTER    (BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO))
#define MARK      (BIT(MN) | BIT(MC) | BIT(ME))
#define NUMBER    (BIT(ND) | BIT(NL) | BIT(NO))
#define PUNCT     (BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO))
#define SYMBOL    (BIT(SM) | BIT(SC) | BIT(SK) | BIT(SO))
#define SEPARATOR (BIT(ZS) | BIT(ZL) | BIT(ZP))
#define OTHER     (BIT(CC) | BIT(CF) | BIT(CN) | BIT(CO) | BIT(CS))
#define VISIBLE   (LETTER | MARK | NUMBER | PUNCT | SYMBOL | BIT(CF) | BIT(CO))

/* Names in small letters, without the signs that do not count. */
static const struct category_row {
    const char *name, *long_name;
    uint32_t bits;
} category_rows[] = {
    { "l", "letter", LETTER },
    { "lu", "uppercaseletter", BIT(LU) },
    { "ll", "lowercaseletter", BIT(LL) },
    { "lt", "titlecaseletter", BIT(LT) },
    { "lm", "modifierletter", BIT(LM) },
    { "lo", "otherletter", BIT(LO) },
    { "lc", "casedletter", BIT(LU) | BIT(LL) | BIT(LT) },
    { "m", "mark", MARK },
    { "mn", "nonspacingmark", BIT(MN) },
    { "mc", "spacingmark", BIT(MC) },
    { "me", "enclosingmark", BIT(ME) },
    { "n", "number", NUMBER },
    { "nd", "decimalnumber", BIT(ND) },
    { "nl", "letternumber", BIT(NL) },
    { "no", "othernumber", BIT(NO) },
    { "p", "punctuation", PUNCT },
    { "pc", "connectorpunctuation", BIT(PC) },
    { "pd", "dashpunctuation", BIT(PD) },
    { "ps", "openpunctuation", BIT(PS) },
    { "pe", "closepunctuation", BIT(PE) },
    { "pi", "initialpunctuation", BIT(PI) },
    { "pf", "finalpunctuation", BIT(PF) },
    { "po", "otherpunctuation", BIT(PO) },
    { "s", "symbol", SYMBOL },
    { "sm", "mathsymbol", BIT(SM) },
    { "sc", "currencysymbol", BIT(SC) },
    { "sk", "modifiersymbol", BIT(SK) },
    { "so", "othersymbol", BIT(SO) },
    { "z", "separator", SEPARATOR },
    { "zs", "spaceseparator", BIT(ZS) },
    { "zl", "lineseparator", BIT(ZL) },
    { "zp", "paragraphseparator", BIT(ZP) },
    { "c", "other", OTHER },
    { "cc", "control", BIT(CC) },
    { "cf", "format", BIT(CF) },
    { "cn", "unassigned", BIT(CN) },
    { "co", "privateuse", BIT(CO) },
    { "any", "any", LETTER | MARK | NUMBER | PUNCT | SYMBOL | SEPARATOR | OTHER },
    { "punct", "punct", PUNCT },
    { "digit", "digit", BIT(ND) },
    { "cntrl", "cntrl", BIT(CC) },
    { "graph", "graph", VISIBLE },
    { "print", "print", VISIBLE | BIT(ZS) },
};

#define RANGES(of) of, sizeof(of) / sizeof((of)[0])
static const struct range space_ranges[] = { { 0x9, 0xD },       { 0x20, 0x20 },
                                             { 0x85, 0x85 },     { 0xA0, 0xA0 },
                                             { 0x1680, 0x1680 }, { 0x2000, 0x200A },
                                             { 0x2028, 0x2029 }, { 0x202F, 0x202F },
                                             { 0x205F, 0x205F }, { 0x3000, 0x3000 } };
static const struct range hex_ranges[] = { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } };
static const struct range ascii_ranges[] = { { 0, 0x7F } };
static const struct range tab_ranges[] = { { '\t', '\t' } };
/* Latin-1's superscripts and fractions. */
static const struct range latin_numbers[] = { { 0xB2, 0xB3 }, { 0xB9, 0xB9 }, { 0xBC, 0xBE } };

/* Categories and further ranges. */
static const struct range_row {
    const char *name;
    uint32_t bits;
    const struct range *ranges;
    size_t n;
} range_rows[] = {
    { "space", 0, RANGES(space_ranges) },
    { "whitespace", 0, RANGES(space_ranges) },
    { "blank", BIT(ZS), RANGES(tab_ranges) },
    { "xdigit", 0, RANGES(hex_ranges) },
    { "ascii", 0, RANGES(ascii_ranges) },
    { "upper", BIT(LU), RANGES(upper_ranges) },
    { "uppercase", BIT(LU), RANGES(upper_ranges) },
    { "lower", BIT(LL), RANGES(lower_ranges) },
    { "lowercase", BIT(LL), RANGES(lower_ranges) },
    { "han", 0, RANGES(han_ranges) },
    { "hiragana", 0, RANGES(hiragana_ranges) },
    { "katakana", 0, RANGES(katakana_ranges) },
    { "hangul", 0, RANGES(hangul_ranges) },
    { "latin", 0, RANGES(latin_ranges) },
    { "greek", 0, RANGES(greek_ranges) },
    { "cyrillic", 0, RANGES(cyrillic_ranges) },
    { "arabic", 0, RANGES(arabic_ranges) },
    { "hebrew", 0, RANGES(hebrew_ranges) },
    { "thai", 0, RANGES(thai_ranges) },
    { "devanagari", 0, RANGES(devanagari_ranges) },
};

/* Planes 4 to 13 are wholly unassigned. Planes 15 and 16 are private, except the last two code
 * points of each. */
static void add_planes(struct letters *set, uint32_t bits)
{
    if ((bits & BIT(CN)) != 0) {
        letters_add(set, 0x40000, 0xDFFFF);
        letters_add(set, 0xFFFFE, 0xFFFFF);
        letters_add(set, 0x10FFFE, 0x10FFFF);
    }
    if ((bits & BIT(CO)) != 0) {
        letters_add(set, 0xF0000, 0xFFFFD);
        letters_add(set, 0x100000, 0x10FFFD);
    }
}

static void add_categories(struct letters *set, uint32_t bits)
{
    for (uint32_t c = 0; bits != 0 && c < 0xF0000; c++) {
        if (c == 0x40000)
            c = 0xE0000;
        if ((bits >> utf8proc_category((utf8proc_int32_t)c) & 1) != 0)
            set->at[c / 32] |= 1u << c % 32;
    }
    add_planes(set, bits);
    for (size_t i = 0; bits != 0 && i < COUNT_OF(newer_ranges); i++) {
        const struct newer_range *range = &newer_ranges[i];
        for (uint32_t c = range->from; c <= range->to; c++) {
            uint32_t was = (uint32_t)utf8proc_category((utf8proc_int32_t)c);
            if ((bits >> range->category & 1) != 0)
                set->at[c / 32] |= 1u << c % 32;
            else if ((bits >> was & 1) != 0)
                set->at[c / 32] &= ~(1u << c % 32);
        }
    }
}

/* Writes the name as the tables spell it. Returns false when it is too long. */
static bool plain_name(struct view name, char out[32])
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        if (c == ' ' || c == '-' || c == '_')
            continue;
        if (n == 31)
            return false;
        out[n++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    out[n] = '\0';
    return true;
}

bool letters_add_property(struct letters *set, struct view name)
{
    char plain[32];
    if (!plain_name(name, plain))
        return false;
    struct letters *own = mem_take(sizeof(*own)); /* removals below must not touch the set */
    bool is_known = false;
    for (size_t i = 0; i < COUNT_OF(category_rows) && !is_known; i++) {
        const struct category_row *row = &category_rows[i];
        is_known = strcmp(row->name, plain) == 0 || strcmp(row->long_name, plain) == 0;
        if (is_known)
            add_categories(own, row->bits);
    }
    for (size_t i = 0; i < COUNT_OF(range_rows) && !is_known; i++) {
        const struct range_row *row = &range_rows[i];
        is_known = strcmp(row->name, plain) == 0;
        if (!is_known)
            continue;
        add_categories(own, row->bits);
        for (size_t k = 0; k < row->n; k++)
            letters_add(own, row->ranges[k].from, row->ranges[k].to);
    }
    letters_join(set, own);
    mem_give(own);
    return is_known;
}

bool letters_add_bracket(struct letters *set, struct view name)
{
    static const char *const known[] = { "ascii", "blank", "cntrl", "digit", "graph", "lower",
                                         "print", "punct", "space", "upper", "xdigit" };
    if (view_equal_text(name, "word")) {
        letters_add_word(set, true);
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (!view_equal_text(name, known[i]))
            continue;
        if (view_equal_text(name, "punct"))
            letters_add_property(set, view_text("s")); /* only the bracket has the symbols too */
        return letters_add_property(set, name);
    }
    return false;
}

void letters_add_word(struct letters *set, bool is_in_class)
{
    struct letters *own = mem_take(sizeof(*own));
    add_categories(own, LETTER | MARK | BIT(ND) | BIT(NL) | BIT(PC));
    for (size_t i = 0; i < COUNT_OF(circled_ranges); i++)
        letters_add(own, circled_ranges[i].from, circled_ranges[i].to);
    for (size_t i = 0; i < COUNT_OF(latin_numbers) && !is_in_class; i++)
        letters_add(own, latin_numbers[i].from, latin_numbers[i].to);
    letters_join(set, own);
    mem_give(own);
}

bool letters_has_case(uint32_t code)
{
    utf8proc_int32_t c = (utf8proc_int32_t)code, folded[8];
    if (code < 0x80)
        return (code | 32) >= 'a' && (code | 32) <= 'z';
    if (code == 0x2BC || code == 0x2BE || (MARK >> utf8proc_category(c) & 1) != 0)
        return true; /* in the foldings of U+0149 and U+1E9A, and of those with accents */
    for (size_t i = 0; i < COUNT_OF(newer_ranges); i++)
        if (code >= newer_ranges[i].from && code <= newer_ranges[i].to)
            return true; /* unknown: perhaps */
    int last = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char(c, folded, 8, UTF8PROC_CASEFOLD, &last);
    return n != 1 || folded[0] != c || utf8proc_toupper(c) != c || utf8proc_tolower(c) != c ||
           utf8proc_totitle(c) != c;
}
