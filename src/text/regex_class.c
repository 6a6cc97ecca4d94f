/* Classes and escapes.
 *
 *   class  = '[' ['^'] item... ['&&' item...]... ']'
 *   item   = code ['-' code] | escape | '[:' ['^'] name ':]' | class
 *
 * A '-' is a literal when it comes first or last. Two ranges that share a code ("a-c-e") are
 * refused, and so are other forms that readers understand differently. */
#include "text/regex_class.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

enum { CLASS_DEPTH_MAX = 8 };

enum status regex_class_refuse(const struct regex_reader *r, size_t at, const char *what)
{
    return fault_set(r->fault, STATUS_UNSUPPORTED,
                     "tokenizer: the regular expression has %s at byte %zu, which is not supported",
                     what, at);
}

static bool is_next(const struct regex_reader *r, const char *text)
{
    return view_starts(view_of(r->pattern.at + r->at, r->pattern.n - r->at), text);
}

/* Takes one code point. Returns false at the end. */
static bool take_code(struct regex_reader *r, uint32_t *code)
{
    struct view rest = view_of(r->pattern.at + r->at, r->pattern.n - r->at);
    int n = rest.n > 0 ? utf8_decode(rest, code) : 0;
    if (n <= 0)
        return false;
    r->at += (size_t)n;
    return true;
}

static int digit_of(char c, uint32_t base)
{
    int digit = c >= '0' && c <= '9' ? c - '0' : -1;
    if ((c | 32) >= 'a' && (c | 32) <= 'f')
        digit = (c | 32) - 'a' + 10;
    return digit < (int)base ? digit : -1;
}

/* Takes at most n_max digits. Returns how many. */
static size_t take_digits(struct regex_reader *r, uint32_t base, size_t n_max, uint32_t *value)
{
    size_t n = 0;
    *value = 0;
    while (n < n_max && r->at < r->pattern.n) {
        int digit = digit_of(r->pattern.at[r->at], base);
        if (digit < 0)
            break;
        *value = *value * base + (uint32_t)digit;
        r->at++;
        n++;
    }
    return n;
}

/* Reads \xHH or \x{H...} from behind the x. */
static enum status read_hex(struct regex_reader *r, size_t start, uint32_t *code)
{
    bool is_braced = is_next(r, "{");
    r->at += is_braced;
    size_t n = take_digits(r, 16, is_braced ? 8 : 2, code);
    if (n == 0 || (is_braced && !is_next(r, "}")))
        return regex_class_refuse(r, start, "a malformed \\x");
    r->at += is_braced;
    if (!is_braced && *code >= 0x80)
        return regex_class_refuse(r, start, "a byte that is no letter (\\x80 to \\xFF)");
    return STATUS_OK;
}

/* Reads \p{Name}, \p{^Name} or \P{Name} from behind the letter. */
static enum status read_property(struct regex_reader *r, size_t start, bool is_in_class,
                                 struct letters *set)
{
    char what[96];
    const char *from = r->pattern.at + r->at;
    const char *end = is_next(r, "{") ? memchr(from, '}', r->pattern.n - r->at) : NULL;
    if (end == NULL)
        return regex_class_refuse(r, start, "a \\p without {Name}");
    bool is_inverted = from[-1] == 'P';
    struct view name = view_of(from + 1, (size_t)(end - from) - 1);
    if (name.n > 0 && name.at[0] == '^') {
        is_inverted = !is_inverted;
        name = view_of(name.at + 1, name.n - 1);
    }
    struct letters *own = mem_take(sizeof(*own));
    bool is_word = name.n == 4 && (view_equal_text(name, "Word") || view_equal_text(name, "word"));
    bool is_known = is_word || letters_add_property(own, name);
    if (is_word)
        letters_add_word(own, is_in_class);
    if (is_inverted)
        letters_invert(own);
    letters_join(set, own);
    mem_give(own);
    snprintf(what, sizeof(what), "the property \\p{%.*s}", (int)(name.n < 40 ? name.n : 40),
             name.at);
    r->at += (size_t)(end - from) + 1;
    return is_known ? STATUS_OK : regex_class_refuse(r, start, what);
}

/* Adds \d, \w, \s, \h or one of their opposites. Returns false for another letter. */
static bool add_kind(char letter, bool is_in_class, struct letters *set)
{
    static const char *const names[] = { ['d' - 'a'] = "digit",
                                         ['h' - 'a'] = "xdigit",
                                         ['s' - 'a'] = "space" };
    char small = (char)(letter | 32);
    if (small != 'w' && small != 'd' && small != 'h' && small != 's')
        return false;
    struct letters *own = mem_take(sizeof(*own));
    if (small == 'w')
        letters_add_word(own, is_in_class);
    else
        CHECK(letters_add_property(own, view_text(names[small - 'a'])));
    if (letter != small)
        letters_invert(own);
    letters_join(set, own);
    mem_give(own);
    return true;
}

static bool is_letter_or_digit(uint32_t code)
{
    return code < 0x80 &&
           ((code >= '0' && code <= '9') || ((code | 32) >= 'a' && (code | 32) <= 'z'));
}

enum status regex_class_escape(struct regex_reader *r, bool is_in_class, struct letters *set,
                               uint32_t *code, bool *is_set)
{
    static const char controls[][2] = { { 't', '\t' }, { 'n', '\n' }, { 'r', '\r' },  { 'f', '\f' },
                                        { 'v', '\v' }, { 'a', '\a' }, { 'e', '\033' } };
    char what[32];
    size_t start = r->at - 1;
    *is_set = false;
    if (!take_code(r, code))
        return regex_class_refuse(r, start, "a backslash at its end");
    char letter = *code < 0x80 ? (char)*code : '\0';
    for (size_t i = 0; i < COUNT_OF(controls) && letter != '\0'; i++) {
        if (controls[i][0] == letter) {
            *code = (uint32_t)controls[i][1];
            return STATUS_OK;
        }
    }
    if (letter == 'x')
        return read_hex(r, start, code);
    if (letter == 'u')
        return take_digits(r, 16, 4, code) == 4
                   ? STATUS_OK
                   : regex_class_refuse(r, start, "a \\u without four digits");
    if (letter == '0') {
        take_digits(r, 8, 2, code);
        return STATUS_OK;
    }
    *is_set = true;
    if (letter == 'p' || letter == 'P')
        return read_property(r, start, is_in_class, set);
    if (letter != '\0' && add_kind(letter, is_in_class, set))
        return STATUS_OK;
    *is_set = false;
    snprintf(what, sizeof(what), "\\%c", letter);
    return is_letter_or_digit(*code) ? regex_class_refuse(r, start, what) : STATUS_OK;
}

/* Reads '[:' ['^'] name ':]' with r->at behind the '['. Returns false for another text. */
static bool read_bracket(struct regex_reader *r, struct letters *set, enum status *status)
{
    size_t start = r->at - 1;
    struct view rest = view_of(r->pattern.at + r->at, r->pattern.n - r->at);
    const char *end = rest.n > 1 && rest.at[0] == ':' ? memchr(rest.at + 1, ':', rest.n - 1) : NULL;
    if (end == NULL || end + 1 == rest.at + rest.n || end[1] != ']')
        return false;
    struct view name = view_of(rest.at + 1, (size_t)(end - rest.at) - 1);
    bool is_inverted = name.n > 0 && name.at[0] == '^';
    if (is_inverted)
        name = view_of(name.at + 1, name.n - 1);
    struct letters *own = mem_take(sizeof(*own));
    *status = letters_add_bracket(own, name)
                  ? STATUS_OK
                  : regex_class_refuse(r, start, "a class in [: :] that is not known");
    if (is_inverted)
        letters_invert(own);
    letters_join(set, own);
    mem_give(own);
    r->at += (size_t)(end - rest.at) + 2;
    return true;
}

static enum status read_nested(struct regex_reader *r, struct letters *set, int depth)
{
    enum status status = STATUS_OK;
    if (read_bracket(r, set, &status))
        return status;
    if (depth == CLASS_DEPTH_MAX)
        return regex_class_refuse(r, r->at, "classes nested too deep");
    struct letters *inner = mem_take(sizeof(*inner));
    status = regex_class_read(r, inner, depth + 1);
    letters_join(set, inner);
    mem_give(inner);
    return status;
}

/* Reads one end of a range, which must be a code; sets are refused. */
static enum status read_end(struct regex_reader *r, uint32_t *code)
{
    size_t start = r->at;
    bool is_set = false;
    if (is_next(r, "[") || is_next(r, "&&"))
        return regex_class_refuse(r, start, "a range of a class that ends in a class");
    if (!take_code(r, code))
        return regex_class_refuse(r, start, "a class without an end");
    if (*code != '\\')
        return STATUS_OK;
    struct letters *set = mem_take(sizeof(*set));
    enum status status = regex_class_escape(r, true, set, code, &is_set);
    mem_give(set);
    if (status == STATUS_OK && is_set)
        return regex_class_refuse(r, start, "a range of a class that ends in a set");
    return status;
}

/* Reads a code, a range or an escape. */
static enum status read_item(struct regex_reader *r, struct letters *set, bool is_first)
{
    size_t start = r->at;
    uint32_t from = 0, to = 0;
    bool is_set = false;
    if (!take_code(r, &from))
        return regex_class_refuse(r, start, "a class without an end");
    enum status status = STATUS_OK;
    if (from == '\\')
        status = regex_class_escape(r, true, set, &from, &is_set);
    else if (from == '-' && !is_first && !is_next(r, "]"))
        return regex_class_refuse(r, start, "a '-' inside a class that makes no range");
    if (status != STATUS_OK)
        return status;
    bool is_range = is_next(r, "-") && !is_next(r, "-]");
    if (is_range && is_set)
        return regex_class_refuse(r, start, "a range of a class that begins with a set");
    if (is_set)
        return STATUS_OK;
    to = from;
    if (is_range) {
        r->at++;
        status = read_end(r, &to);
    }
    if (status == STATUS_OK && (from > to || to >= LETTERS_CODES))
        return regex_class_refuse(r, start, "a range of a class that is empty");
    if (status == STATUS_OK)
        letters_add(set, from, to);
    return status;
}

/* Adds both cases of ASCII letters, and the letters that Unicode folds to them. Other letters with
 * case are refused, since their foldings are not known well enough. */
static enum status add_cases(struct regex_reader *r, size_t start, struct letters *set)
{
    for (uint32_t c = 0x80; c < LETTERS_CODES; c++) {
        if (set->at[c / 32] == 0)
            c |= 31;
        else if (letters_has(set, c) && letters_has_case(c))
            return regex_class_refuse(r, start, "a class of letters beyond ASCII under (?i)");
    }
    for (uint32_t c = 'a'; c <= 'z'; c++) {
        if (!letters_has(set, c) && !letters_has(set, c - 32))
            continue;
        letters_add(set, c, c);
        letters_add(set, c - 32, c - 32);
        if (c == 'k')
            letters_add(set, 0x212A, 0x212A);
        if (c == 's')
            letters_add(set, 0x17F, 0x17F);
    }
    return STATUS_OK;
}

enum status regex_class_read(struct regex_reader *r, struct letters *set, int depth)
{
    size_t start = r->at - 1;
    bool is_inverted = is_next(r, "^"), is_empty = true;
    enum status status = STATUS_OK;
    struct letters *before = NULL; /* the set before the last && */
    r->at += is_inverted;
    if (is_next(r, "]")) /* comes first: a code, which may begin a range */
        status = read_item(r, set, true), is_empty = false;
    while (status == STATUS_OK && !is_next(r, "]")) {
        if (is_next(r, "&&")) {
            if (is_empty)
                status = regex_class_refuse(r, r->at, "an && without one of its sides");
            if (before == NULL)
                before = mem_take(sizeof(*before)), letters_invert(before);
            letters_keep(before, set);
            memset(set, 0, sizeof(*set));
            r->at += 2;
            is_empty = true;
        } else if (is_next(r, "[")) {
            r->at++;
            status = read_nested(r, set, depth);
            is_empty = false;
            if (status == STATUS_OK && is_next(r, "-") && !is_next(r, "-]"))
                status = regex_class_refuse(r, r->at, "a range of a class that begins with a set");
        } else {
            status = read_item(r, set, is_empty);
            is_empty = false;
        }
    }
    if (status == STATUS_OK && is_empty)
        status = regex_class_refuse(r, start, "an empty class");
    r->at++;
    if (before != NULL)
        letters_keep(set, before);
    mem_give(before);
    if (status == STATUS_OK && r->ignores_case && depth == 0)
        status = add_cases(r, start, set);
    if (is_inverted)
        letters_invert(set);
    return status;
}
