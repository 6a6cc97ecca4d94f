/* str() and repr(), byte for byte as Python writes them. A value that Python would write with its
 * address (generators, methods, functions) is refused. */
#include "template/jinja_print.h"
#include "template/jinja_iter.h"
#include "template/jinja_letter.h"
#include "template/jinja_node.h"
#include "template/jinja_number.h"
#include <string.h>

static void print_quoted(struct jinja_run *run, struct view text, bool is_ascii, struct str *out)
{
    if (!jinja_charge(run, (int64_t)(text.n / 8)))
        return;
    bool has_single = text.n > 0 && memchr(text.at, '\'', text.n) != NULL;
    bool has_double = text.n > 0 && memchr(text.at, '"', text.n) != NULL;
    char quote = has_single && !has_double ? '"' : '\'';
    str_add_char(out, quote);
    for (size_t i = 0, n; i < text.n; i += n) {
        uint32_t c = jinja_letter_at(text, i, &n);
        bool is_plain =
            is_ascii && c >= 128 ? false : (jinja_letter_traits(c) & JINJA_IS_PRINTABLE) != 0;
        if (c == (uint32_t)quote || c == '\\')
            str_printf(out, "\\%c", (char)c);
        else if (c == '\n' || c == '\r' || c == '\t')
            str_printf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (is_plain)
            str_add(out, text.at + i, n);
        else
            str_printf(out, c < 256 ? "\\x%02x" : c < 65536 ? "\\u%04x" : "\\U%08x", c);
    }
    str_add_char(out, quote);
}

/* Returns true when values may be written one level deeper. The caller leaves by depth--. */
static bool enter(struct jinja_run *run, const struct str *out)
{
    return jinja_fits(run, out) && jinja_enter(run);
}

static void print_items(struct jinja_run *run, struct jinja_value v, struct str *out)
{
    bool is_tuple = v.kind == JINJA_TUPLE;
    str_add_char(out, is_tuple ? '(' : '[');
    for (int64_t i = 0; i < v.list->n && !jinja_failed(run); i++) {
        if (i > 0)
            str_add_text(out, ", ");
        jinja_print_repr(run, v.list->at[i], out);
    }
    if (is_tuple && v.list->n == 1)
        str_add_char(out, ',');
    str_add_char(out, is_tuple ? ')' : ']');
}

static void print_dict(struct jinja_run *run, const struct jinja_dict *dict, struct str *out)
{
    str_add_char(out, '{');
    for (int64_t i = 0; i < dict->n && !jinja_failed(run); i++) {
        if (i > 0)
            str_add_text(out, ", ");
        jinja_print_repr(run, dict->at[i].key, out);
        str_add_text(out, ": ");
        jinja_print_repr(run, dict->at[i].value, out);
    }
    str_add_char(out, '}');
}

static void print_view(struct jinja_run *run, struct jinja_value v, struct str *out)
{
    str_printf(out, "%s(", jinja_value_type(v));
    print_items(run, jinja_iter_list(run, v), out);
    str_add_char(out, ')');
}

static void print_range(const struct jinja_range *range, struct str *out)
{
    int64_t stop = range->stop;
    str_printf(out, "range(%lld, %lld", (long long)range->start, (long long)stop);
    if (range->step != 1)
        str_printf(out, ", %lld", (long long)range->step);
    str_add_char(out, ')');
}

static void print_object(struct jinja_run *run, struct jinja_value v, struct str *out)
{
    switch (v.kind) {
    case JINJA_LIST:
    case JINJA_TUPLE:
        print_items(run, v, out);
        break;
    case JINJA_DICT:
        print_dict(run, v.dict, out);
        break;
    case JINJA_VIEW:
        print_view(run, v, out);
        break;
    case JINJA_RANGE:
        print_range(v.range, out);
        break;
    case JINJA_NAMESPACE:
        str_add_text(out, "<Namespace ");
        print_dict(run, v.dict, out);
        str_add_char(out, '>');
        break;
    case JINJA_LOOP:
        str_printf(out, "<LoopContext %lld/%lld>", (long long)v.loop->index0 + 1,
                   (long long)jinja_iter_loop_length(run, v.loop));
        break;
    case JINJA_MACRO:
        str_add_text(out, "<Macro ");
        if (v.macro->node->text.at == NULL)
            str_add_text(out, "anonymous");
        else
            print_quoted(run, v.macro->node->text, false, out);
        str_add_char(out, '>');
        break;
    default:
        jinja_fail(run, STATUS_UNSUPPORTED, "a %s is printed", jinja_value_type(v));
        break;
    }
}

void jinja_print_repr(struct jinja_run *run, struct jinja_value v, struct str *out)
{
    if (v.kind == JINJA_UNDEFINED) {
        str_add_text(out, "Undefined");
    } else if (v.kind != JINJA_STRING) {
        jinja_print_value(run, v, out);
    } else if (v.mark == JINJA_MARKUP) {
        str_add_text(out, "Markup(");
        print_quoted(run, v.string, false, out);
        str_add_char(out, ')');
    } else {
        print_quoted(run, v.string, false, out);
    }
}

void jinja_print_ascii(struct jinja_run *run, struct jinja_value v, struct str *out)
{
    if (v.kind == JINJA_STRING)
        print_quoted(run, v.string, true, out);
    else if (v.kind <= JINJA_FLOAT)
        jinja_print_repr(run, v, out);
    else
        jinja_fail(run, STATUS_UNSUPPORTED, "the conversion !a of a %s", jinja_value_type(v));
}

void jinja_print_value(struct jinja_run *run, struct jinja_value v, struct str *out)
{
    if (!enter(run, out))
        return;
    switch (v.kind) {
    case JINJA_UNDEFINED:
        break;
    case JINJA_NONE:
        str_add_text(out, "None");
        break;
    case JINJA_BOOL:
        str_add_text(out, v.boolean ? "True" : "False");
        break;
    case JINJA_INT:
        str_printf(out, "%lld", (long long)v.integer);
        break;
    case JINJA_FLOAT:
        jinja_number_print(v.real, false, out);
        break;
    case JINJA_STRING:
        if (jinja_charge(run, (int64_t)(v.string.n / 64)))
            str_add(out, v.string.at, v.string.n);
        break;
    default:
        print_object(run, v, out);
        break;
    }
    run->depth--;
}

struct view jinja_print_view(struct jinja_run *run, struct jinja_value v)
{
    if (v.kind == JINJA_STRING)
        return v.string.at == NULL ? view_of("", 0) : v.string;
    struct str text;
    str_init(&text);
    jinja_print_value(run, v, &text);
    return jinja_value_keep(run, &text).string;
}

struct jinja_value jinja_print_soft(struct jinja_run *run, struct jinja_value v)
{
    return v.kind == JINJA_STRING ? v : jinja_string(jinja_print_view(run, v));
}
