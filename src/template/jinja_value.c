/* Jinja values, and the bounds of a run. Lists and dictionaries never change once a template sees
 * them, because the sandbox forbids it; only namespaces do. */
#include "template/jinja_value.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void jinja_fail(struct jinja_run *run, enum status status, const char *fmt, ...)
{
    if (jinja_failed(run))
        return;
    char text[192];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    run->status = fault_set(&run->fault, status, "chat template, line %d: %s", run->line, text);
}

bool jinja_charge(struct jinja_run *run, int64_t n)
{
    run->steps += n;
    if (run->steps > run->steps_max)
        jinja_fail(run, STATUS_TOO_LARGE, "more than %lld steps", (long long)run->steps_max);
    return !jinja_failed(run);
}

bool jinja_enter(struct jinja_run *run)
{
    if (!jinja_charge(run, 1))
        return false;
    if (run->depth >= JINJA_RUN_DEPTH_MAX) {
        jinja_fail(run, STATUS_TOO_LARGE, "evaluation nests deeper than %d", JINJA_RUN_DEPTH_MAX);
        return false;
    }
    run->depth++;
    return true;
}

void *jinja_take(struct jinja_run *run, size_t n_bytes)
{
    if (!jinja_charge(run, (int64_t)(n_bytes / 64)))
        return NULL;
    if (n_bytes > JINJA_PILE_BYTES_MAX || run->pile.n_bytes + n_bytes > JINJA_PILE_BYTES_MAX) {
        jinja_fail(run, STATUS_TOO_LARGE, "more than %d bytes of values", JINJA_PILE_BYTES_MAX);
        return NULL;
    }
    return pile_take(&run->pile, n_bytes);
}

bool jinja_grow(struct jinja_run *run, void **table, int64_t n, int64_t *capacity,
                size_t item_bytes)
{
    if (n < *capacity)
        return true;
    int64_t wanted = *capacity == 0 ? 4 : *capacity * 2;
    void *larger = jinja_take(run, (size_t)wanted * item_bytes);
    if (larger == NULL)
        return false;
    if (n > 0)
        memcpy(larger, *table, (size_t)n * item_bytes);
    *table = larger;
    *capacity = wanted;
    return true;
}

bool jinja_fits(struct jinja_run *run, const struct str *text)
{
    if (text->n > JINJA_OUTPUT_BYTES_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "more than %d bytes of text", JINJA_OUTPUT_BYTES_MAX);
    return !jinja_failed(run);
}

double jinja_value_real(struct jinja_value v)
{
    return v.kind == JINJA_FLOAT ? v.real : (double)jinja_value_int(v);
}

int64_t jinja_value_int(struct jinja_value v)
{
    return v.kind == JINJA_BOOL ? v.boolean : v.kind == JINJA_INT ? v.integer : 0;
}

struct jinja_value jinja_value_copy(struct jinja_run *run, struct view text)
{
    char *copy = jinja_take(run, text.n + 1);
    if (copy == NULL)
        return jinja_string(view_of("", 0));
    if (text.n > 0)
        memcpy(copy, text.at, text.n);
    return jinja_string(view_of(copy, text.n));
}

struct jinja_value jinja_value_keep(struct jinja_run *run, struct str *text)
{
    struct jinja_value value = jinja_value_copy(run, view_of(text->at, text->n));
    str_free(text);
    return value;
}

struct jinja_value jinja_value_list(struct jinja_run *run, enum jinja_kind kind)
{
    struct jinja_list *list = jinja_take(run, sizeof(*list));
    return list == NULL ? jinja_none() : (struct jinja_value){ .kind = kind, .list = list };
}

void jinja_value_push(struct jinja_run *run, struct jinja_value list, struct jinja_value item)
{
    if (!jinja_is_list(list) || !jinja_charge(run, 1))
        return;
    void *table = list.list->at;
    if (!jinja_grow(run, &table, list.list->n, &list.list->capacity, sizeof(item)))
        return;
    list.list->at = table;
    list.list->at[list.list->n++] = item;
}

struct jinja_value jinja_value_pair(struct jinja_run *run, struct jinja_value a,
                                    struct jinja_value b)
{
    struct jinja_value pair = jinja_value_list(run, JINJA_TUPLE);
    jinja_value_push(run, pair, a);
    jinja_value_push(run, pair, b);
    return pair;
}

struct jinja_value jinja_value_dict(struct jinja_run *run, enum jinja_kind kind)
{
    struct jinja_dict *dict = jinja_take(run, sizeof(*dict));
    return dict == NULL ? jinja_none() : (struct jinja_value){ .kind = kind, .dict = dict };
}

bool jinja_value_truth(struct jinja_value v)
{
    switch (v.kind) {
    case JINJA_MISSING:
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        return false;
    case JINJA_BOOL:
        return v.boolean;
    case JINJA_INT:
        return v.integer != 0;
    case JINJA_FLOAT:
        return v.real != 0;
    case JINJA_STRING:
        return v.string.n > 0;
    case JINJA_LIST:
    case JINJA_TUPLE:
        return v.list->n > 0;
    case JINJA_DICT:
    case JINJA_VIEW:
        return v.dict->n > 0;
    case JINJA_RANGE:
        return v.range->n > 0;
    default:
        return true; /* a loop is true, too: its body runs for an item */
    }
}

const char *jinja_value_type(struct jinja_value v)
{
    static const char *const names[] = {
        "missing",
        "Undefined",
        "NoneType",
        "bool",
        "int",
        "float",
        "str",
        "list",
        "tuple",
        "dict",
        "dict_keys",
        "range",
        "generator",
        "Namespace",
        "LoopContext",
        "Macro",
        "builtin_function_or_method",
        "function",
        "Cycler",
        "Joiner",
    };
    if (v.kind == JINJA_VIEW)
        return v.mark == JINJA_KEYS     ? "dict_keys"
               : v.mark == JINJA_VALUES ? "dict_values"
                                        : "dict_items";
    return v.kind == JINJA_ITERATOR ? v.iter->type : names[v.kind];
}

void jinja_value_refuse_undefined(struct jinja_run *run, struct jinja_value v)
{
    if (v.kind == JINJA_UNDEFINED)
        jinja_fail(run, STATUS_BAD_INPUT, "'%.*s' is undefined",
                   (int)min_i64((int64_t)v.string.n, 80), v.string.n > 0 ? v.string.at : "");
}

bool jinja_value_refuse_markup(struct jinja_run *run, struct jinja_value v, const char *what)
{
    if (v.kind != JINJA_STRING || v.mark != JINJA_MARKUP)
        return false;
    jinja_fail(run, STATUS_UNSUPPORTED, "%s of what safe, e or escape returned", what);
    return true;
}
