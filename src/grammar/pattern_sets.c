/* Sets of code points in regular expressions. */
#include "grammar/pattern_sets.h"

#include <string.h>
#include <utf8proc.h>

static const uint32_t digits[] = { '0', '9' };
static const uint32_t letters[] = { '0', '9', 'A', 'Z', '_', '_', 'a', 'z' };
static const uint32_t spaces[] = { 9,      13,     ' ',    ' ',    0xA0,   0xA0,   0x1680,
                                   0x1680, 0x2000, 0x200A, 0x2028, 0x2029, 0x202F, 0x202F,
                                   0x205F, 0x205F, 0x3000, 0x3000, 0xFEFF, 0xFEFF };

static size_t refuse(struct fault *fault, struct view rest, const char *what)
{
    (void)fault_set(fault, STATUS_UNSUPPORTED, "a regular expression, at \"%.20s\": %s", rest.at,
                    what);
    return 0;
}

/* Reads p{Name} behind the \. Returns its bytes. */
static size_t read_property(struct pile *pile, struct view rest, struct dfa_set *out,
                            struct fault *fault)
{
    static const struct {
        const char *name, *category;
    } longs[] = { { "Letter", "L" },
                  { "Lowercase_Letter", "Ll" },
                  { "Uppercase_Letter", "Lu" },
                  { "Number", "N" },
                  { "Decimal_Number", "Nd" },
                  { "Punctuation", "P" },
                  { "Symbol", "S" },
                  { "Separator", "Z" },
                  { "Mark", "M" },
                  { "Space_Separator", "Zs" },
                  { "digit", "Nd" },
                  { "Alphabetic", "L" } };
    const char *end = rest.n > 3 ? memchr(rest.at, '}', rest.n) : NULL;
    if (end == NULL || rest.at[1] != '{')
        return refuse(fault, rest, "a \\p needs a category in braces");
    char name[24] = "";
    size_t n = (size_t)(end - rest.at) - 2;
    if (n == 0 || n >= sizeof(name))
        return refuse(fault, rest, "this \\p is not a general category");
    memcpy(name, rest.at + 2, n);
    for (size_t i = 0; i < COUNT_OF(longs); i++)
        if (strcmp(name, longs[i].name) == 0)
            memcpy(name, longs[i].category, strlen(longs[i].category) + 1);
    n = strlen(name);
    if (n > 2 || strchr("LMNPSZC", name[0]) == NULL)
        return refuse(fault, rest, "this \\p is not a general category");
    uint32_t(*ranges)[2] = pile_take(pile, sizeof(*ranges) * 4096);
    uint32_t n_ranges = 0;
    for (uint32_t c = 0; c <= DFA_LAST && n_ranges < 4096; c++) {
        if (memcmp(utf8proc_category_string((utf8proc_int32_t)c), name, n) != 0)
            continue;
        if (n_ranges > 0 && ranges[n_ranges - 1][1] + 1 == c)
            ranges[n_ranges - 1][1] = c;
        else
            ranges[n_ranges][0] = ranges[n_ranges][1] = c, n_ranges++;
    }
    *out = dfa_set_of(pile, ranges[0], n_ranges);
    return (size_t)(end - rest.at) + 1;
}

/* Reads n hexadecimal digits. Returns false when there are fewer. */
static bool read_hex(struct view text, size_t n, uint32_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        char c = i < text.n ? text.at[i] : 'x';
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *out = *out * 16 + (uint32_t)digit;
    }
    return true;
}

/* Reads u or x and hexadecimal digits behind the \. Returns their bytes, 0: they are wrong. */
static size_t read_code(struct view rest, uint32_t *code)
{
    size_t n = rest.at[0] == 'x' ? 2 : rest.at[0] == 'U' ? 8 : 4;
    struct view text = view_of(rest.at + 1, rest.n - 1);
    uint32_t low;
    if (rest.at[0] == 'u' && text.n > 0 && text.at[0] == '{') {
        for (n = 1; n < text.n && text.at[n] != '}' && n < 8; n++)
            ;
        bool is_whole = n > 1 && n < text.n && text.at[n] == '}' &&
                        read_hex(view_of(text.at + 1, n - 1), n - 1, code);
        return is_whole && *code <= DFA_LAST ? n + 2 : 0;
    }
    if (!read_hex(text, n, code) || *code > DFA_LAST)
        return 0;
    if (n == 4 && *code >= 0xD800 && *code < 0xDC00 && text.n >= 10 && text.at[4] == '\\' &&
        text.at[5] == 'u' && read_hex(view_of(text.at + 6, 4), 4, &low) && low >= 0xDC00 &&
        low < 0xE000) {
        *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
        return 11;
    }
    return n + 1;
}

size_t pattern_sets_escape(struct pile *pile, struct view rest, struct dfa_set *out,
                           struct fault *fault)
{
    static const char plain[] = "ntrfv0", means[] = "\n\t\r\f\v";
    struct view behind = view_of(rest.at + 1, rest.n - 1);
    uint32_t code;
    if (rest.n < 2)
        return refuse(fault, rest, "a \\ stands at its end");
    char c = behind.at[0];
    if (c == 'd' || c == 'D')
        *out = dfa_set_of(pile, digits, 1);
    else if (c == 'w' || c == 'W')
        *out = dfa_set_of(pile, letters, 4);
    else if (c == 's' || c == 'S')
        *out = dfa_set_of(pile, spaces, 10);
    if (c == 'D' || c == 'W' || c == 'S')
        *out = dfa_set_not(pile, *out);
    if (strchr("dDwWsS", c) != NULL)
        return 2;
    if (c == 'p' || c == 'P') {
        size_t n = read_property(pile, behind, out, fault);
        if (n > 0 && c == 'P')
            *out = dfa_set_not(pile, *out);
        return n > 0 ? n + 1 : 0;
    }
    if (c == 'u' || c == 'x' || c == 'U') {
        size_t n = read_code(behind, &code);
        *out = dfa_set_one(pile, code);
        return n > 0 ? n + 1 : refuse(fault, rest, "its hexadecimal digits are wrong");
    }
    if (c == 'c' && behind.n > 1) {
        *out = dfa_set_one(pile, (unsigned char)behind.at[1] & 31);
        return 3;
    }
    const char *known = strchr(plain, c);
    if (known != NULL) {
        *out = dfa_set_one(pile, (unsigned char)means[known - plain]);
        return 2;
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9'))
        return refuse(fault, rest, "this escape is not known");
    int n = utf8_decode(behind, &code);
    *out = dfa_set_one(pile, n > 0 ? code : '\\');
    return n > 0 ? (size_t)n + 1 : refuse(fault, rest, "it is not valid UTF-8");
}

/* Reads one member of a class: a code point or a set. */
static size_t read_member(struct pile *pile, struct view rest, struct dfa_set *out,
                          struct fault *fault)
{
    uint32_t code;
    if (rest.at[0] == '\\' && rest.n > 1 && rest.at[1] == 'b') {
        *out = dfa_set_one(pile, '\b');
        return 2;
    }
    if (rest.at[0] == '\\')
        return pattern_sets_escape(pile, rest, out, fault);
    int n = utf8_decode(rest, &code);
    if (n <= 0)
        return refuse(fault, rest, "it is not valid UTF-8");
    *out = dfa_set_one(pile, code);
    return (size_t)n;
}

static bool is_one(struct dfa_set set)
{
    return set.n == 1 && set.ranges[0][0] == set.ranges[0][1];
}

size_t pattern_sets_class(struct pile *pile, struct view rest, struct dfa_set *out,
                          struct fault *fault)
{
    size_t at = rest.n > 0 && rest.at[0] == '^';
    bool is_not = at == 1;
    uint32_t(*ranges)[2] = NULL, n_max = 0, n = 0;
    while (at < rest.n && rest.at[at] != ']') {
        struct dfa_set member, last;
        size_t n_bytes = read_member(pile, view_of(rest.at + at, rest.n - at), &member, fault);
        if (n_bytes == 0)
            return 0;
        at += n_bytes;
        if (at + 1 < rest.n && rest.at[at] == '-' && rest.at[at + 1] != ']') {
            n_bytes = read_member(pile, view_of(rest.at + at + 1, rest.n - at - 1), &last, fault);
            if (n_bytes == 0)
                return 0;
            if (!is_one(member) || !is_one(last) || last.ranges[0][0] < member.ranges[0][0])
                return refuse(fault, rest, "a range of a class ends before its start");
            member.ranges[0][1] = last.ranges[0][0];
            at += n_bytes + 1;
        }
        if (n + member.n > n_max) {
            uint32_t(*more)[2] = pile_take(pile, sizeof(*more) * (n_max * 2 + member.n + 8));
            if (n > 0)
                memcpy(more, ranges, sizeof(*more) * n);
            n_max = n_max * 2 + member.n + 8;
            ranges = more;
        }
        memcpy(ranges + n, member.ranges, sizeof(*ranges) * member.n);
        n += member.n;
    }
    if (at == rest.n)
        return refuse(fault, rest, "a ] is missing");
    *out = dfa_set_of(pile, n > 0 ? ranges[0] : NULL, n);
    if (is_not)
        *out = dfa_set_not(pile, *out);
    return at + 1;
}
