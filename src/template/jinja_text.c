/* Texts as in Python's str: UTF-8 here, counted in letters. */
#include "template/jinja_text.h"
#include "template/jinja_iter.h"
#include "template/jinja_letter.h"
#include "template/jinja_print.h"
#include "template/jinja_value.h"
#include <string.h>

int64_t jinja_text_length(struct jinja_run *run, struct view text)
{
    int64_t n = 0;
    if (!jinja_charge(run, (int64_t)(text.n / 64)))
        return 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.at[i] & 0xC0) != 0x80;
    return n;
}

static size_t step_at(struct view text, size_t i)
{
    size_t n;
    (void)jinja_letter_at(text, i, &n);
    return n;
}

size_t jinja_text_offset(struct view text, int64_t letter)
{
    size_t i = letter < 0 ? text.n : 0, n;
    for (; letter > 0 && i < text.n; letter--)
        i += step_at(text, i);
    for (; letter < 0 && i > 0; letter++) {
        (void)jinja_letter_before(text, i, &n);
        i -= n;
    }
    return i;
}

struct view jinja_text_part(struct jinja_run *run, struct view text, int64_t first, int64_t end)
{
    (void)jinja_charge(run, (int64_t)(text.n / 16));
    size_t from = jinja_text_offset(text, first), to = jinja_text_offset(text, end);
    return from < to ? view_of(text.at + from, to - from) : view_of("", 0);
}

static bool is_stripped(struct view letter, struct view chars)
{
    size_t n;
    if (chars.at == NULL)
        return jinja_letter_is_space(jinja_letter_at(letter, 0, &n));
    return chars.n > 0 && memmem(chars.at, chars.n, letter.at, letter.n) != NULL;
}

struct view jinja_text_strip(struct jinja_run *run, struct view text, struct view chars,
                             unsigned sides)
{
    size_t n, n_before = text.n;
    int64_t n_steps = (int64_t)(chars.n / 64);
    while ((sides & JINJA_LEFT) != 0 && text.n > 0 && jinja_charge(run, n_steps)) {
        n = step_at(text, 0);
        if (!is_stripped(view_of(text.at, n), chars))
            break;
        text = view_of(text.at + n, text.n - n);
    }
    while ((sides & JINJA_RIGHT) != 0 && text.n > 0 && jinja_charge(run, n_steps)) {
        (void)jinja_letter_before(text, text.n, &n);
        if (!is_stripped(view_of(text.at + text.n - n, n), chars))
            break;
        text.n -= n;
    }
    (void)jinja_charge(run, (int64_t)((n_before - text.n) / 8));
    return text;
}

int64_t jinja_text_find(struct jinja_run *run, struct view text, struct view what)
{
    if (what.n == 0)
        return 0;
    if (what.n > text.n)
        return -1;
    const char *found = memmem(text.at, text.n, what.at, what.n);
    int64_t at = found == NULL ? -1 : found - text.at;
    (void)jinja_charge(run, ((at < 0 ? (int64_t)text.n : at) + (int64_t)what.n) / 64);
    return at;
}

int64_t jinja_text_find_last(struct jinja_run *run, struct view text, struct view what)
{
    for (size_t i = what.n > text.n ? 0 : text.n - what.n + 1; i-- > 0;) {
        if (!jinja_charge(run, (i & 7) == 0))
            return -1;
        if (what.n == 0)
            return (int64_t)i;
        if (text.at[i] == what.at[0] && jinja_charge(run, (int64_t)(what.n / 64)) &&
            memcmp(text.at + i, what.at, what.n) == 0)
            return (int64_t)i;
    }
    return -1;
}

int64_t jinja_text_count(struct jinja_run *run, struct view text, struct view what)
{
    int64_t n = 0, found;
    if (what.n == 0)
        return jinja_text_length(run, text) + 1;
    while ((found = jinja_text_find(run, text, what)) >= 0 && jinja_charge(run, 1)) {
        size_t end = (size_t)found + what.n;
        text = view_of(text.at + end, text.n - end);
        n++;
    }
    return n;
}

/* Python's replace of the empty string: inserts before every letter and at the end. */
static void replace_nothing(struct jinja_run *run, struct view text, struct view with,
                            int64_t limit, struct str *out)
{
    for (size_t i = 0, n; i < text.n && jinja_charge(run, 1) && jinja_fits(run, out); i += n) {
        n = step_at(text, i);
        if (limit != 0)
            str_add(out, with.at, with.n);
        limit -= limit > 0;
        str_add(out, text.at + i, n);
    }
    if (limit != 0)
        str_add(out, with.at, with.n);
}

struct jinja_value jinja_text_replace(struct jinja_run *run, struct view text, struct view old,
                                      struct view with, int64_t limit)
{
    struct str out;
    str_init(&out);
    int64_t found;
    if (old.n == 0)
        replace_nothing(run, text, with, limit, &out);
    while (old.n > 0 && limit != 0 && (found = jinja_text_find(run, text, old)) >= 0 &&
           jinja_charge(run, 1 + (int64_t)(with.n / 64)) && jinja_fits(run, &out)) {
        size_t end = (size_t)found + old.n;
        str_add(&out, text.at, (size_t)found);
        str_add(&out, with.at, with.n);
        text = view_of(text.at + end, text.n - end);
        limit -= limit > 0;
    }
    if (old.n > 0)
        str_add(&out, text.at, text.n);
    return jinja_value_keep(run, &out);
}

static size_t word_bytes(struct view text)
{
    size_t i = 0, n;
    while (i < text.n && !jinja_letter_is_space(jinja_letter_at(text, i, &n)))
        i += n;
    return i;
}

static void split_spaces(struct jinja_run *run, struct view text, int64_t limit,
                         struct jinja_value out)
{
    struct view none = view_of(NULL, 0);
    text = jinja_text_strip(run, text, none, JINJA_LEFT);
    while (text.n > 0 && limit != 0 && jinja_charge(run, 1)) {
        size_t n = word_bytes(text);
        jinja_value_push(run, out, jinja_string(view_of(text.at, n)));
        text = jinja_text_strip(run, view_of(text.at + n, text.n - n), none, JINJA_LEFT);
        limit -= limit > 0;
    }
    if (text.n > 0)
        jinja_value_push(run, out, jinja_string(text));
}

static bool check_separator(struct jinja_run *run, struct view text, struct view separator)
{
    if (separator.at != NULL && separator.n == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "empty separator");
    return jinja_charge(run, (int64_t)(text.n / 64));
}

struct jinja_value jinja_text_split(struct jinja_run *run, struct view text, struct view separator,
                                    int64_t limit)
{
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    if (!check_separator(run, text, separator))
        return out;
    if (separator.at == NULL) {
        split_spaces(run, text, limit, out);
        return out;
    }
    int64_t found;
    while (limit != 0 && (found = jinja_text_find(run, text, separator)) >= 0) {
        size_t end = (size_t)found + separator.n;
        jinja_value_push(run, out, jinja_string(view_of(text.at, (size_t)found)));
        text = view_of(text.at + end, text.n - end);
        limit -= limit > 0;
    }
    jinja_value_push(run, out, jinja_string(text));
    return out;
}

/* Returns the last word of a text, without the white space at the text's end. */
static struct view last_word(struct view text)
{
    size_t i = text.n, n;
    while (i > 0 && !jinja_letter_is_space(jinja_letter_before(text, i, &n)))
        i -= n;
    return view_of(text.at + i, text.n - i);
}

struct jinja_value jinja_text_split_right(struct jinja_run *run, struct view text,
                                          struct view separator, int64_t limit)
{
    struct jinja_value parts = jinja_value_list(run, JINJA_LIST),
                       out = jinja_value_list(run, JINJA_LIST);
    struct view none = view_of(NULL, 0);
    if (!check_separator(run, text, separator))
        return out;
    bool at_spaces = separator.at == NULL;
    if (at_spaces)
        text = jinja_text_strip(run, text, none, JINJA_RIGHT);
    while (limit != 0 && (!at_spaces || text.n > 0) && jinja_charge(run, 1)) {
        int64_t found = at_spaces ? 0 : jinja_text_find_last(run, text, separator);
        if (found < 0)
            break;
        size_t end = (size_t)found + separator.n;
        struct view part = at_spaces ? last_word(text) : view_of(text.at + end, text.n - end);
        jinja_value_push(run, parts, jinja_string(part));
        text.n = at_spaces ? text.n - part.n : (size_t)found;
        if (at_spaces)
            text = jinja_text_strip(run, text, none, JINJA_RIGHT);
        limit -= limit > 0;
    }
    if (!at_spaces || text.n > 0)
        jinja_value_push(run, parts, jinja_string(text));
    for (int64_t i = jinja_failed(run) ? 0 : parts.list->n; i > 0; i--)
        jinja_value_push(run, out, parts.list->at[i - 1]);
    return out;
}

static bool ends_line(uint32_t c)
{
    return (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

struct jinja_value jinja_text_lines(struct jinja_run *run, struct view text, bool keeps_ends)
{
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    if (!jinja_charge(run, (int64_t)(text.n / 16)))
        return out;
    while (text.n > 0 && !jinja_failed(run)) {
        size_t i = 0, n = 0;
        while (i < text.n && !ends_line(jinja_letter_at(text, i, &n)))
            i += n;
        size_t end = i < text.n ? i + n : i;
        end += i + 1 < text.n && text.at[i] == '\r' && text.at[i + 1] == '\n';
        jinja_value_push(run, out, jinja_string(view_of(text.at, keeps_ends ? end : i)));
        text = view_of(text.at + end, text.n - end);
    }
    return out;
}

struct jinja_value jinja_text_partition(struct jinja_run *run, struct view text, struct view what,
                                        bool last)
{
    struct jinja_value out = jinja_value_list(run, JINJA_TUPLE);
    struct view empty = view_of("", 0), parts[3] = { text, empty, empty };
    if (what.n == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "empty separator");
    int64_t found = last ? jinja_text_find_last(run, text, what) : jinja_text_find(run, text, what);
    if (found < 0 && last) {
        parts[0] = empty;
        parts[2] = text;
    } else if (found >= 0) {
        size_t end = (size_t)found + what.n;
        parts[0] = view_of(text.at, (size_t)found);
        parts[1] = what;
        parts[2] = view_of(text.at + end, text.n - end);
    }
    for (int i = 0; i < 3; i++)
        jinja_value_push(run, out, jinja_string(parts[i]));
    return out;
}

struct jinja_value jinja_text_concat(struct jinja_run *run, struct view a, struct view b)
{
    char *joined = jinja_take(run, a.n + b.n + 1);
    if (joined == NULL)
        return jinja_none();
    if (a.n > 0)
        memcpy(joined, a.at, a.n);
    if (b.n > 0)
        memcpy(joined + a.n, b.at, b.n);
    return jinja_string(view_of(joined, a.n + b.n));
}

struct jinja_value jinja_text_join(struct jinja_run *run, struct view separator,
                                   struct jinja_value items, bool prints)
{
    struct jinja_iter *iter = jinja_iter_open(run, items);
    struct jinja_value item;
    struct str out;
    str_init(&out);
    for (int64_t i = 0; iter != NULL && jinja_iter_next(run, iter, &item); i++) {
        if (i > 0 && jinja_charge(run, 1 + (int64_t)(separator.n / 64)))
            str_add(&out, separator.at, separator.n);
        if (!prints && item.kind != JINJA_STRING)
            jinja_fail(run, STATUS_BAD_INPUT, "sequence item %lld: expected str instance, %s found",
                       (long long)i, jinja_value_type(item));
        jinja_print_value(run, item, &out);
        (void)jinja_fits(run, &out);
    }
    return jinja_value_keep(run, &out);
}

struct jinja_value jinja_text_pad(struct jinja_run *run, struct view text, struct view fill,
                                  int64_t n_left, int64_t n_right)
{
    struct str out;
    str_init(&out);
    n_left = max_i64(n_left, 0);
    n_right = max_i64(n_right, 0);
    if (n_left > JINJA_WIDTH_MAX || n_right > JINJA_WIDTH_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "a field of more than %d letters", JINJA_WIDTH_MAX);
    bool is_good = jinja_charge(run, (n_left + n_right) / 16);
    for (int64_t i = 0; i < n_left && is_good; i++)
        str_add(&out, fill.at, fill.n);
    str_add(&out, text.at, text.n);
    for (int64_t i = 0; i < n_right && is_good; i++)
        str_add(&out, fill.at, fill.n);
    return jinja_value_keep(run, &out);
}

struct jinja_value jinja_text_tabs(struct jinja_run *run, struct view text, int64_t width)
{
    struct str out;
    str_init(&out);
    int64_t column = 0;
    if (width > JINJA_WIDTH_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "tabs of more than %d letters", JINJA_WIDTH_MAX);
    for (size_t i = 0; i < text.n && jinja_charge(run, 1) && jinja_fits(run, &out); i++) {
        char c = text.at[i];
        int64_t n = c == '\t' && width > 0 ? width - column % width : 0;
        for (int64_t k = 0; k < n; k++)
            str_add_char(&out, ' ');
        (void)jinja_charge(run, n / 16);
        if (c != '\t')
            str_add_char(&out, c);
        column += c == '\t' ? n : ((unsigned char)c & 0xC0) != 0x80;
        column = c == '\n' || c == '\r' ? 0 : column;
    }
    return jinja_value_keep(run, &out);
}
