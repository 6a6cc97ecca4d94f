/* Formats with fields in braces: {0.name[key]!r:>{width}}. Attributes and items are those of the
 * sandbox. */
#include "template/jinja_brace.h"
#include "template/jinja_attr.h"
#include "template/jinja_print.h"
#include "template/jinja_spec.h"
#include "template/jinja_text.h"
#include <string.h>

enum { NESTING_MAX = 2 };

struct brace {
    struct jinja_run *run;
    const struct jinja_args *args;
    int64_t next; /* argument of the next field without a name; -1: fields have numbers */
};

static void format_into(struct brace *b, struct view format, int nesting, struct str *out);

static void check_text_spec(struct jinja_run *run, const struct jinja_spec *spec, const char *type)
{
    const char *wrong = spec->sign != '\0'       ? "Sign not allowed in string format specifier"
                        : spec->alternate        ? "Alternate form (#) not allowed"
                        : spec->grouping != '\0' ? "Cannot specify a grouping with 's'."
                        : spec->align == '='     ? "'=' alignment not allowed"
                        : spec->type != '\0' && spec->type != 's' ? "Unknown format code"
                                                                  : NULL;
    if (wrong != NULL)
        jinja_fail(run, STATUS_BAD_INPUT, "%s for object of type '%s'", wrong, type);
}

void jinja_brace_field(struct jinja_run *run, struct jinja_value v, struct view text,
                       struct str *out)
{
    struct jinja_spec spec;
    if (jinja_value_refuse_markup(run, v, "a format"))
        return;
    if (text.n == 0) {
        jinja_print_value(run, v, out);
        return;
    }
    if (!jinja_spec_parse(run, text, &spec))
        return;
    bool is_real_type = spec.type != '\0' && strchr("eEfFgG%", spec.type) != NULL;
    if (v.kind == JINJA_STRING) {
        check_text_spec(run, &spec, "str");
        if (!jinja_failed(run))
            jinja_spec_text(run, &spec, v.string, out);
    } else if (v.kind == JINJA_FLOAT || (jinja_is_whole(v) && is_real_type)) {
        jinja_spec_real(run, &spec, jinja_value_real(v), out);
    } else if (jinja_is_whole(v)) {
        jinja_spec_int(run, &spec, jinja_value_int(v), out);
    } else {
        jinja_fail(run, STATUS_BAD_INPUT, "unsupported format string passed to %s.__format__",
                   jinja_value_type(v));
    }
}

static bool is_number(struct view text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    }
    return text.n > 0;
}

static struct jinja_value argument(struct brace *b, struct view name)
{
    int64_t index = 0;
    for (size_t i = 0; is_number(name) && i < name.n && index < JINJA_ARGS_MAX; i++)
        index = index * 10 + (name.at[i] - '0');
    if (is_number(name) && index < b->args->n)
        return b->args->at[index];
    for (int64_t i = 0; !is_number(name) && i < b->args->n_named; i++) {
        if (view_equal(b->args->named[i].name, name))
            return b->args->named[i].value;
    }
    jinja_fail(b->run, STATUS_BAD_INPUT, "a format has no argument '%.*s'",
               (int)min_i64((int64_t)name.n, 60), name.at);
    return jinja_none();
}

/* The parts ".name" and "[key]" behind the argument. */
static struct jinja_value follow(struct brace *b, struct jinja_value v, struct view rest)
{
    while (rest.n > 0 && !jinja_failed(b->run)) {
        bool is_item = rest.at[0] == '[';
        size_t n = 1;
        while (n < rest.n && (is_item ? rest.at[n] != ']' : rest.at[n] != '.' && rest.at[n] != '['))
            n++;
        struct view name = view_of(rest.at + 1, n - 1);
        if (name.n == 0 || (is_item && n == rest.n) || (!is_item && rest.at[0] != '.')) {
            jinja_fail(b->run, STATUS_BAD_INPUT, "a field of a format is malformed");
            break;
        }
        int64_t index = 0;
        for (size_t i = 0; is_item && is_number(name) && i < name.n && index <= INT32_MAX; i++)
            index = index * 10 + (name.at[i] - '0');
        struct jinja_value key = is_number(name) ? jinja_int(index) : jinja_string(name);
        v = is_item ? jinja_attr_item(b->run, v, key) : jinja_attr_get(b->run, v, name);
        n += is_item;
        rest = view_of(rest.at + n, rest.n - n);
    }
    return v;
}

static struct jinja_value field_value(struct brace *b, struct view name)
{
    size_t n = 0;
    while (n < name.n && name.at[n] != '.' && name.at[n] != '[')
        n++;
    struct view first = view_of(name.at, n);
    if (name.n == 0) {
        if (b->next < 0)
            jinja_fail(b->run, STATUS_BAD_INPUT,
                       "cannot switch from manual field specification to automatic numbering");
        int64_t index = b->next++;
        if (index >= 0 && index < b->args->n)
            return b->args->at[index];
        jinja_fail(b->run, STATUS_BAD_INPUT, "a format has too few arguments");
        return jinja_none();
    }
    if (n == 0)
        jinja_fail(b->run, STATUS_UNSUPPORTED, "a field of a format without a name before its '%c'",
                   name.at[0]);
    if (is_number(name)) {
        if (b->next > 0)
            jinja_fail(b->run, STATUS_BAD_INPUT,
                       "cannot switch from automatic numbering to manual field specification");
        b->next = -1;
    }
    struct jinja_value v = jinja_failed(b->run) ? jinja_none() : argument(b, first);
    return follow(b, v, view_of(name.at + n, name.n - n));
}

static struct jinja_value convert(struct brace *b, struct jinja_value v, struct view conversion)
{
    struct str text;
    str_init(&text);
    char c = conversion.n == 1 ? conversion.at[0] : '\0';
    if (c == 's')
        jinja_print_value(b->run, v, &text);
    else if (c == 'r')
        jinja_print_repr(b->run, v, &text);
    else if (c == 'a')
        jinja_print_ascii(b->run, v, &text);
    else
        jinja_fail(b->run, STATUS_BAD_INPUT, "an unknown conversion of a format");
    return jinja_value_keep(b->run, &text);
}

/* The text between the braces of a field. */
struct field {
    struct view name, conversion, spec; /* conversion.at NULL: there is none */
};

/* The bytes of a field's name: up to '!', ':' or '}' outside of brackets. */
static size_t name_bytes(struct brace *b, struct view rest)
{
    size_t n = 0;
    while (n < rest.n && strchr("!:}", rest.at[n]) == NULL) {
        if (rest.at[n] == '{')
            jinja_fail(b->run, STATUS_BAD_INPUT, "unexpected '{' in field name");
        bool is_item = rest.at[n] == '[';
        while (is_item && n < rest.n && rest.at[n] != ']')
            n++;
        n += n < rest.n;
    }
    return n;
}

/* Reads a field from behind its opening brace. Returns its bytes including the closing brace. */
static size_t read_field(struct brace *b, struct view rest, struct field *field)
{
    size_t n = name_bytes(b, rest), depth = 1;
    *field = (struct field){ .name = view_of(rest.at, n), .spec = view_of("", 0) };
    if (n < rest.n && rest.at[n] == '!') {
        struct view behind = view_of(rest.at + n + 1, rest.n - n - 1);
        field->conversion = view_of(behind.at, jinja_text_offset(behind, 1));
        n += 1 + field->conversion.n;
        if (n < rest.n && rest.at[n] != ':' && rest.at[n] != '}')
            jinja_fail(b->run, STATUS_BAD_INPUT, "expected ':' after conversion specifier");
    }
    if (n < rest.n && rest.at[n] == '}')
        return n + 1;
    size_t start = n < rest.n ? n + 1 : n;
    for (size_t i = start; i < rest.n; i++) {
        depth += rest.at[i] == '{' ? 1 : 0;
        depth -= rest.at[i] == '}' ? 1 : 0;
        if (depth == 0) {
            field->spec = view_of(rest.at + start, i - start);
            return i + 1;
        }
    }
    jinja_fail(b->run, STATUS_BAD_INPUT, "a field of a format has no end");
    return rest.n;
}

static void format_field(struct brace *b, const struct field *field, int nesting, struct str *out)
{
    struct str spec;
    str_init(&spec);
    if (nesting > NESTING_MAX)
        jinja_fail(b->run, STATUS_BAD_INPUT, "Max string recursion exceeded");
    struct jinja_value v = jinja_failed(b->run) ? jinja_none() : field_value(b, field->name);
    if (field->conversion.at != NULL && !jinja_failed(b->run))
        v = convert(b, v, field->conversion);
    if (field->spec.n > 0 && !jinja_failed(b->run))
        format_into(b, field->spec, nesting + 1, &spec);
    if (!jinja_failed(b->run))
        jinja_brace_field(b->run, v, view_of(spec.at == NULL ? "" : spec.at, spec.n), out);
    str_free(&spec);
}

static void format_into(struct brace *b, struct view format, int nesting, struct str *out)
{
    for (size_t i = 0; i < format.n && jinja_charge(b->run, 1) && jinja_fits(b->run, out);) {
        char c = format.at[i], next = i + 1 < format.n ? format.at[i + 1] : '\0';
        if (c != '{' && c != '}') {
            str_add_char(out, c);
            i++;
        } else if (next == c) {
            str_add_char(out, c);
            i += 2;
        } else if (c == '}' || i + 1 == format.n) {
            jinja_fail(b->run, STATUS_BAD_INPUT, "Single '%c' encountered in format string", c);
        } else {
            struct field field;
            i += 1 + read_field(b, view_of(format.at + i + 1, format.n - i - 1), &field);
            if (!jinja_failed(b->run))
                format_field(b, &field, nesting, out);
        }
    }
}

struct jinja_value jinja_brace_format(struct jinja_run *run, struct view format,
                                      const struct jinja_args *args)
{
    struct brace b = { .run = run, .args = args };
    struct str out;
    str_init(&out);
    format_into(&b, format, 1, &out);
    return jinja_value_keep(run, &out);
}
