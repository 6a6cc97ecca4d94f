/* Markup: escape and safe return markupsafe's class Markup, which escapes all that is joined to it.
 *
 * Markup can be printed, tested, joined, repeated, cut and passed on. Its methods and filters may
 * escape their arguments, so they are refused by name. */
#include "template/jinja_markup.h"
#include "template/jinja_iter.h"
#include "template/jinja_print.h"
#include "template/jinja_text.h"
#include <string.h>

static void add_escaped(struct jinja_run *run, struct view text, struct str *out)
{
    for (size_t i = 0; i < text.n && jinja_charge(run, (i & 15) == 0); i++) {
        char c = text.at[i];
        const char *entity = c == '&'    ? "&amp;"
                             : c == '<'  ? "&lt;"
                             : c == '>'  ? "&gt;"
                             : c == '\'' ? "&#39;"
                             : c == '"'  ? "&#34;"
                                         : NULL;
        if (entity != NULL)
            str_add_text(out, entity);
        else
            str_add_char(out, c);
    }
    (void)jinja_fits(run, out);
}

static struct jinja_value marked(struct jinja_value v)
{
    v.mark = JINJA_MARKUP;
    return v;
}

struct jinja_value jinja_markup_safe(struct jinja_run *run, struct jinja_value v,
                                     const struct jinja_value *const *given,
                                     const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    return marked(jinja_string(jinja_print_view(run, v)));
}

struct jinja_value jinja_markup_escape(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *const *given,
                                       const struct jinja_args *args, int is_forced)
{
    (void)given, (void)args;
    if (v.kind == JINJA_STRING && v.mark == JINJA_MARKUP && !is_forced)
        return v;
    struct str out;
    str_init(&out);
    add_escaped(run, jinja_print_view(run, v), &out);
    return marked(jinja_value_keep(run, &out));
}

struct jinja_value jinja_markup_join(struct jinja_run *run, struct jinja_value a,
                                     struct jinja_value b)
{
    a = jinja_markup_escape(run, a, NULL, NULL, 0);
    b = jinja_markup_escape(run, b, NULL, NULL, 0);
    return jinja_failed(run) ? jinja_none() : marked(jinja_text_concat(run, a.string, b.string));
}

static void add_attribute(struct jinja_run *run, struct jinja_pair pair, struct str *out)
{
    struct view key = jinja_args_text(run, &pair.key, view_of(NULL, 0));
    if (key.at == NULL)
        jinja_fail(run, STATUS_BAD_INPUT, "an attribute's name must be a str");
    for (size_t i = 0; i < key.n && jinja_charge(run, 1); i++) {
        if (key.at[i] == '\0' || strchr(" \t\n\r\f\v/>=", key.at[i]) != NULL)
            jinja_fail(run, key.at[i] == '\0' ? STATUS_UNSUPPORTED : STATUS_BAD_INPUT,
                       "Invalid character in attribute name");
    }
    if (jinja_value_refuse_markup(run, pair.key, "an attribute") ||
        jinja_value_refuse_markup(run, pair.value, "an attribute") || jinja_failed(run))
        return;
    str_add_text(out, out->n > 0 ? " " : "");
    add_escaped(run, key, out);
    str_add_text(out, "=\"");
    add_escaped(run, jinja_print_view(run, pair.value), out);
    str_add_text(out, "\"");
}

struct jinja_value jinja_markup_xmlattr(struct jinja_run *run, struct jinja_value v,
                                        const struct jinja_value *const *given,
                                        const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    jinja_value_refuse_undefined(run, v);
    if (v.kind != JINJA_DICT)
        jinja_fail(run, STATUS_BAD_INPUT, "'%s' object has no attribute 'items'",
                   jinja_value_type(v));
    struct str out, spaced;
    str_init(&out);
    str_init(&spaced);
    for (int64_t i = 0; !jinja_failed(run) && i < v.dict->n; i++) {
        struct jinja_pair pair = v.dict->at[i];
        if (pair.value.kind != JINJA_NONE && pair.value.kind != JINJA_UNDEFINED)
            add_attribute(run, pair, &out);
    }
    bool is_spaced = given[0] == NULL || jinja_args_flag(given[0]);
    str_add_text(&spaced, is_spaced && out.n > 0 ? " " : "");
    str_add(&spaced, out.at, out.n);
    str_free(&out);
    return jinja_value_keep(run, &spaced);
}

/* quote(): letters, digits and "_.-~" stay, "/" too in a path; a space of a query is "+". */
static void add_quoted(struct jinja_run *run, struct view text, bool is_query, struct str *out)
{
    for (size_t i = 0; i < text.n && jinja_charge(run, (i & 15) == 0); i++) {
        unsigned char c = (unsigned char)text.at[i], low = c | 0x20;
        bool is_plain = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') ||
                        (c != '\0' && strchr("_.-~", c) != NULL) || (c == '/' && !is_query);
        if (is_plain)
            str_add_char(out, (char)c);
        else if (c == ' ' && is_query)
            str_add_char(out, '+');
        else
            str_printf(out, "%%%02X", c);
    }
    (void)jinja_fits(run, out);
}

static void add_query(struct jinja_run *run, struct jinja_value pairs, struct str *out)
{
    struct jinja_iter *iter = jinja_iter_open(run, pairs);
    struct jinja_value item;
    for (bool is_first = true; iter != NULL && jinja_iter_next(run, iter, &item);
         is_first = false) {
        struct jinja_value parts = jinja_iter_list(run, item);
        if (!jinja_failed(run) && parts.list->n != 2)
            jinja_fail(run, STATUS_BAD_INPUT, "%lld values are assigned to 2 names",
                       (long long)parts.list->n);
        str_add_text(out, is_first ? "" : "&");
        for (int i = 0; i < 2 && !jinja_failed(run); i++) {
            add_quoted(run, jinja_print_view(run, parts.list->at[i]), true, out);
            str_add_text(out, i == 0 ? "=" : "");
        }
    }
}

struct jinja_value jinja_markup_urlencode(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_value *const *given,
                                          const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    struct str out;
    str_init(&out);
    if (v.kind == JINJA_DICT)
        v = (struct jinja_value){ .kind = JINJA_VIEW, .mark = JINJA_ITEMS, .dict = v.dict };
    if (v.kind != JINJA_STRING && jinja_iter_can_open(v))
        add_query(run, v, &out);
    else
        add_quoted(run, jinja_print_view(run, v), false, &out);
    return jinja_value_keep(run, &out);
}
