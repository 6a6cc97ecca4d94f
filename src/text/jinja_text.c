/* Operations on strings: case, replace, split, join. */
#include "text/jinja_text.h"
#include "text/jinja_print.h"
#include <string.h>
#include <utf8proc.h>

static struct jinja_value keep(struct jinja_run *run, struct str *text)
{
    struct jinja_value value = jinja_value_copy(run, view_of(text->at, text->n));
    str_free(text);
    return value;
}

static bool is_letter(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT;
}

struct jinja_value jinja_text_case(struct jinja_run *run, struct view text, enum jinja_case how)
{
    struct str out;
    str_init(&out);
    bool after_letter = false;
    if (!jinja_charge(run, (int64_t)(text.n / 8)))
        text.n = 0;
    for (size_t i = 0; i < text.n;) {
        uint32_t c = 0;
        int n = utf8_decode(view_of(text.at + i, text.n - i), &c);
        bool raises = how == JINJA_UPPER || (how == JINJA_TITLE && !after_letter) ||
                      (how == JINJA_CAPITALIZE && i == 0);
        char changed[4];
        utf8proc_int32_t to = raises && how == JINJA_UPPER ? utf8proc_toupper((utf8proc_int32_t)c)
                              : raises                     ? utf8proc_totitle((utf8proc_int32_t)c)
                                                           : utf8proc_tolower((utf8proc_int32_t)c);
        after_letter = n > 0 && is_letter(c);
        if (n <= 0)
            str_add(&out, text.at + i, 1);
        else if (c == 0xDF && raises)
            str_add_text(&out, how == JINJA_UPPER ? "SS" : "Ss");
        else
            str_add(&out, changed, (size_t)utf8_encode((uint32_t)to, changed));
        i += n > 0 ? (size_t)n : 1;
    }
    return keep(run, &out);
}

static const char *find_bytes(struct view text, struct view what)
{
    return text.n == 0 || what.n == 0 ? NULL : memmem(text.at, text.n, what.at, what.n);
}

/* Python's replace of the empty string: before every letter and at the end. */
static void replace_nothing(struct view text, struct view with, int64_t limit, struct str *out)
{
    while (text.n > 0) {
        if (limit-- != 0)
            str_add(out, with.at, with.n);
        else
            limit = 0;
        size_t n = jinja_value_letter_bytes(text);
        str_add(out, text.at, n);
        text = view_of(text.at + n, text.n - n);
    }
    if (limit != 0)
        str_add(out, with.at, with.n);
}

struct jinja_value jinja_text_replace(struct jinja_run *run, struct view text, struct view old,
                                      struct view with, int64_t limit)
{
    struct str out;
    str_init(&out);
    if (!jinja_charge(run, (int64_t)(text.n / 64)))
        return jinja_none();
    if (old.n == 0 && with.n > 0 && text.n >= JINJA_OUTPUT_BYTES_MAX / with.n)
        jinja_fail(run, STATUS_TOO_LARGE, "replace makes a text too long");
    else if (old.n == 0)
        replace_nothing(text, with, limit < 0 ? INT64_MAX : limit, &out);
    while (text.n > 0 && old.n > 0) {
        const char *found = limit == 0 ? NULL : find_bytes(text, old);
        size_t n = found == NULL ? text.n : (size_t)(found - text.at);
        if (found != NULL && !jinja_charge(run, 1 + (int64_t)(with.n / 64)))
            break;
        if (out.n + with.n > JINJA_OUTPUT_BYTES_MAX) {
            jinja_fail(run, STATUS_TOO_LARGE, "replace makes a text too long");
            break;
        }
        str_add(&out, text.at, n);
        if (found == NULL)
            break;
        str_add(&out, with.at, with.n);
        text = view_of(found + old.n, text.n - n - old.n);
        limit -= limit > 0;
    }
    return keep(run, &out);
}

static bool is_space_at(struct view text, size_t *n)
{
    uint32_t c = 0;
    int step = utf8_decode(text, &c);
    *n = step > 0 ? (size_t)step : 1;
    return step > 0 && jinja_value_is_space(c);
}

static void split_spaces(struct jinja_run *run, struct view text, int64_t limit,
                         struct jinja_value out)
{
    struct view none = view_of(NULL, 0);
    text = jinja_value_strip(text, none, JINJA_LEFT);
    while (text.n > 0 && !jinja_failed(run)) {
        size_t end = 0, n;
        if (limit == 0) {
            jinja_value_push(run, out, jinja_string(jinja_value_strip(text, none, JINJA_RIGHT)));
            return;
        }
        while (end < text.n && !is_space_at(view_of(text.at + end, text.n - end), &n))
            end += n;
        jinja_value_push(run, out, jinja_string(view_of(text.at, end)));
        text = jinja_value_strip(view_of(text.at + end, text.n - end), none, JINJA_LEFT);
        limit -= limit > 0;
    }
}

static const char *find_last(struct view text, struct view what)
{
    for (size_t i = text.n + 1; i-- > 0;) {
        if (text.n - i >= what.n && (what.n == 0 || memcmp(text.at + i, what.at, what.n) == 0))
            return text.at + i;
    }
    return NULL;
}

static void split_right(struct jinja_run *run, struct view text, struct view separator,
                        int64_t limit, struct jinja_value out)
{
    struct jinja_value reversed = jinja_value_list(run, JINJA_LIST);
    const char *found;
    while (limit != 0 && jinja_charge(run, (int64_t)(text.n / 64)) &&
           (found = find_last(text, separator)) != NULL) {
        const char *end = found + separator.n;
        size_t n = (size_t)(text.at + text.n - end);
        jinja_value_push(run, reversed, jinja_string(view_of(end, n)));
        text.n = (size_t)(found - text.at);
        limit -= limit > 0;
    }
    jinja_value_push(run, out, jinja_string(text));
    for (int64_t i = jinja_failed(run) ? 0 : reversed.list->n; i > 0; i--)
        jinja_value_push(run, out, reversed.list->at[i - 1]);
}

struct jinja_value jinja_text_split(struct jinja_run *run, struct view text, struct view separator,
                                    int64_t limit, bool from_right)
{
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    if (separator.at != NULL && separator.n == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "empty separator");
    if (jinja_failed(run) || !jinja_charge(run, (int64_t)(text.n / 64)))
        return jinja_none();
    if (separator.at == NULL) {
        if (from_right && limit >= 0)
            jinja_fail(run, STATUS_UNSUPPORTED, "rsplit at white space with a limit");
        split_spaces(run, text, limit, out);
        return out;
    }
    if (from_right && limit >= 0) {
        split_right(run, text, separator, limit, out);
        return out;
    }
    const char *found;
    while (limit != 0 && !jinja_failed(run) && (found = find_bytes(text, separator)) != NULL) {
        size_t n = (size_t)(found - text.at);
        jinja_value_push(run, out, jinja_string(view_of(text.at, n)));
        text = view_of(found + separator.n, text.n - n - separator.n);
        limit -= limit > 0;
    }
    jinja_value_push(run, out, jinja_string(text));
    return out;
}

struct jinja_value jinja_text_lines(struct jinja_run *run, struct view text)
{
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    while (text.n > 0 && !jinja_failed(run)) {
        size_t n = 0;
        while (n < text.n && text.at[n] != '\n' && text.at[n] != '\r')
            n++;
        jinja_value_push(run, out, jinja_string(view_of(text.at, n)));
        if (n < text.n)
            n += text.at[n] == '\r' && n + 1 < text.n && text.at[n + 1] == '\n' ? 2 : 1;
        text = view_of(text.at + n, text.n - n);
    }
    return out;
}

int64_t jinja_text_find(struct jinja_run *run, struct view text, struct view what, bool last)
{
    if (!jinja_charge(run, (int64_t)(text.n / 64)))
        return -1;
    if (what.n == 0)
        return last ? jinja_value_letters(text) : 0;
    const char *found = text.n == 0 ? NULL : last ? find_last(text, what) : find_bytes(text, what);
    return found == NULL ? -1 : jinja_value_letters(view_of(text.at, (size_t)(found - text.at)));
}

struct jinja_value jinja_text_join(struct jinja_run *run, struct view separator,
                                   struct jinja_value items, bool prints)
{
    struct jinja_value list = jinja_value_items(run, items);
    struct str out;
    str_init(&out);
    for (int64_t i = 0; !jinja_failed(run) && i < list.list->n; i++) {
        struct jinja_value item = list.list->at[i];
        if (i > 0 && jinja_charge(run, 1 + (int64_t)(separator.n / 64)))
            str_add(&out, separator.at, separator.n);
        if (!prints && item.kind != JINJA_STRING)
            jinja_fail(run, STATUS_BAD_INPUT, "sequence item %lld: expected str instance, %s found",
                       (long long)i, jinja_value_type(item));
        jinja_print_value(run, item, &out);
    }
    return keep(run, &out);
}

/* Writes one argument as its letter asks; false when it can't be. */
static bool format_one(struct jinja_run *run, char letter, int decimals, struct jinja_value v,
                       struct str *out)
{
    if (letter == 's') {
        jinja_print_value(run, v, out);
    } else if (letter == 'r') {
        jinja_print_repr(run, v, out);
    } else if ((letter == 'd' || letter == 'i') && jinja_is_number(v)) {
        double f = jinja_value_real(v);
        if (v.kind == JINJA_FLOAT && !(f > -9e18 && f < 9e18))
            return false;
        str_printf(out, "%lld",
                   v.kind == JINJA_FLOAT ? (long long)f : (long long)jinja_value_int(v));
    } else if (letter == 'f' && jinja_is_number(v)) {
        str_printf(out, "%.*f", decimals < 0 ? 6 : decimals, jinja_value_real(v));
    } else {
        return false;
    }
    return true;
}

struct jinja_value jinja_text_format(struct jinja_run *run, struct view format,
                                     const struct jinja_value *arguments, int64_t n)
{
    struct str out;
    str_init(&out);
    int64_t used = 0;
    for (size_t i = 0; i < format.n && jinja_charge(run, 1); i++) {
        if (format.at[i] != '%') {
            str_add_char(&out, format.at[i]);
            continue;
        }
        int decimals = -1;
        if (i + 3 < format.n && format.at[i + 1] == '.' && format.at[i + 2] >= '0' &&
            format.at[i + 2] <= '9') {
            decimals = format.at[i + 2] - '0';
            i += 2;
        }
        char letter = ++i < format.n ? format.at[i] : '\0';
        if (letter == '%')
            str_add_char(&out, '%');
        else if (used >= n || !format_one(run, letter, decimals, arguments[used++], &out))
            jinja_fail(run, STATUS_BAD_INPUT, "a format does not fit its arguments");
    }
    if (used < n)
        jinja_fail(run, STATUS_BAD_INPUT, "not all arguments converted during string formatting");
    return keep(run, &out);
}
