/* Jinja values.
 *
 * Lists and dictionaries never change once a template sees them (the sandbox forbids it), only
 * namespaces do. Look-ups in dictionaries are linear and charged. */
#include "text/jinja_value.h"
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
    if (run->steps > JINJA_STEPS_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "more than %d steps", JINJA_STEPS_MAX);
    return !jinja_failed(run);
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

struct jinja_value jinja_value_list(struct jinja_run *run, enum jinja_kind kind)
{
    struct jinja_list *list = jinja_take(run, sizeof(*list));
    return list == NULL ? jinja_none() : (struct jinja_value){ .kind = kind, .list = list };
}

/* Doubles a table of the pile when it is full; false when that fails. */
static bool make_room(struct jinja_run *run, void **table, int64_t n, int64_t *capacity,
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

void jinja_value_push(struct jinja_run *run, struct jinja_value list, struct jinja_value item)
{
    if (!jinja_is_list(list) || !jinja_charge(run, 1))
        return;
    void *table = list.list->at;
    if (!make_room(run, &table, list.list->n, &list.list->capacity, sizeof(item)))
        return;
    list.list->at = table;
    list.list->at[list.list->n++] = item;
}

struct jinja_value jinja_value_dict(struct jinja_run *run, enum jinja_kind kind)
{
    struct jinja_dict *dict = jinja_take(run, sizeof(*dict));
    return dict == NULL ? jinja_none() : (struct jinja_value){ .kind = kind, .dict = dict };
}

static struct jinja_pair *find_pair(struct jinja_run *run, const struct jinja_dict *dict,
                                    struct jinja_value key)
{
    for (int64_t i = 0; i < dict->n; i++) {
        if (jinja_value_equal(run, dict->at[i].key, key))
            return &dict->at[i];
    }
    return NULL;
}

void jinja_value_set(struct jinja_run *run, struct jinja_dict *dict, struct jinja_value key,
                     struct jinja_value value)
{
    if (key.kind == JINJA_LIST || key.kind == JINJA_DICT) {
        jinja_fail(run, STATUS_BAD_INPUT, "unhashable type: '%s'", jinja_value_type(key));
        return;
    }
    struct jinja_pair *pair = find_pair(run, dict, key);
    if (pair != NULL) {
        pair->value = value;
        return;
    }
    void *table = dict->at;
    if (!make_room(run, &table, dict->n, &dict->capacity, sizeof(*dict->at)))
        return;
    dict->at = table;
    dict->at[dict->n++] = (struct jinja_pair){ key, value };
}

const struct jinja_value *jinja_value_find(struct jinja_run *run, const struct jinja_dict *dict,
                                           struct jinja_value key)
{
    const struct jinja_pair *pair = find_pair(run, dict, key);
    return pair == NULL ? NULL : &pair->value;
}

bool jinja_value_truth(struct jinja_value v)
{
    switch (v.kind) {
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
        return v.dict->n > 0;
    default:
        return true;
    }
}

static bool lists_equal(struct jinja_run *run, const struct jinja_list *a,
                        const struct jinja_list *b)
{
    bool is_equal = a->n == b->n;
    for (int64_t i = 0; i < a->n && is_equal; i++)
        is_equal = jinja_value_equal(run, a->at[i], b->at[i]);
    return is_equal;
}

static bool dicts_equal(struct jinja_run *run, const struct jinja_dict *a,
                        const struct jinja_dict *b)
{
    bool is_equal = a->n == b->n;
    for (int64_t i = 0; i < a->n && is_equal; i++) {
        const struct jinja_value *other = jinja_value_find(run, b, a->at[i].key);
        is_equal = other != NULL && jinja_value_equal(run, a->at[i].value, *other);
    }
    return is_equal;
}

bool jinja_value_equal(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    if (!jinja_charge(run, 1))
        return false;
    if (jinja_is_number(a) && jinja_is_number(b)) {
        if (a.kind != JINJA_FLOAT && b.kind != JINJA_FLOAT)
            return jinja_value_int(a) == jinja_value_int(b);
        return jinja_value_real(a) == jinja_value_real(b);
    }
    if (a.kind != b.kind)
        return false;
    bool is_equal = false;
    switch (a.kind) {
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        return true;
    case JINJA_STRING:
        return jinja_charge(run, (int64_t)(a.string.n / 64)) && view_equal(a.string, b.string);
    case JINJA_LIST:
    case JINJA_TUPLE:
    case JINJA_DICT:
        if (++run->depth > JINJA_RUN_DEPTH_MAX)
            jinja_fail(run, STATUS_TOO_LARGE, "values nest too deep");
        else if (a.kind == JINJA_DICT)
            is_equal = dicts_equal(run, a.dict, b.dict);
        else
            is_equal = lists_equal(run, a.list, b.list);
        run->depth--;
        return is_equal;
    default:
        return a.list == b.list; /* the same object */
    }
}

int jinja_value_order(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    if (!jinja_charge(run, 1))
        return 0;
    if (jinja_is_number(a) && jinja_is_number(b)) {
        if (a.kind != JINJA_FLOAT && b.kind != JINJA_FLOAT) {
            int64_t x = jinja_value_int(a), y = jinja_value_int(b);
            return (x > y) - (x < y);
        }
        double x = jinja_value_real(a), y = jinja_value_real(b);
        return (x > y) - (x < y);
    }
    if (a.kind == JINJA_STRING && b.kind == JINJA_STRING) {
        size_t n = a.string.n < b.string.n ? a.string.n : b.string.n;
        int order =
            n > 0 && jinja_charge(run, (int64_t)(n / 64)) ? memcmp(a.string.at, b.string.at, n) : 0;
        return order != 0 ? order : (a.string.n > b.string.n) - (a.string.n < b.string.n);
    }
    if (jinja_is_list(a) && a.kind == b.kind) {
        for (int64_t i = 0; i < a.list->n && i < b.list->n && !jinja_failed(run); i++) {
            if (!jinja_value_equal(run, a.list->at[i], b.list->at[i]) &&
                !jinja_is_list(a.list->at[i]))
                return jinja_value_order(run, a.list->at[i], b.list->at[i]);
        }
        return (a.list->n > b.list->n) - (a.list->n < b.list->n);
    }
    jinja_value_refuse_undefined(run, a.kind == JINJA_UNDEFINED ? a : b);
    jinja_fail(run, STATUS_BAD_INPUT, "'%s' and '%s' have no order", jinja_value_type(a),
               jinja_value_type(b));
    return 0;
}

bool jinja_value_in(struct jinja_run *run, struct jinja_value item, struct jinja_value container)
{
    if (container.kind == JINJA_STRING) {
        if (item.kind != JINJA_STRING) {
            jinja_fail(run, STATUS_BAD_INPUT,
                       "'in <string>' requires string as left operand, not %s",
                       jinja_value_type(item));
            return false;
        }
        return jinja_charge(run, (int64_t)(container.string.n / 64)) &&
               (item.string.n == 0 ||
                (container.string.n > 0 &&
                 memmem(container.string.at, container.string.n, item.string.at, item.string.n)));
    }
    if (container.kind == JINJA_DICT)
        return jinja_value_find(run, container.dict, item) != NULL;
    struct jinja_value items = jinja_value_items(run, container);
    if (items.kind != JINJA_LIST)
        return false;
    for (int64_t i = 0; i < items.list->n; i++) {
        if (jinja_value_equal(run, items.list->at[i], item))
            return true;
    }
    return false;
}

int64_t jinja_value_length(struct jinja_run *run, struct jinja_value v)
{
    if (v.kind == JINJA_STRING)
        return jinja_charge(run, (int64_t)(v.string.n / 64)) ? jinja_value_letters(v.string) : 0;
    if (jinja_is_list(v))
        return v.list->n;
    if (v.kind == JINJA_DICT)
        return v.dict->n;
    if (v.kind == JINJA_LOOP)
        return v.loop->items->n;
    if (v.kind != JINJA_UNDEFINED)
        jinja_fail(run, STATUS_BAD_INPUT, "object of type '%s' has no len()", jinja_value_type(v));
    return 0;
}

struct jinja_value jinja_value_items(struct jinja_run *run, struct jinja_value v)
{
    if (jinja_is_list(v))
        return (struct jinja_value){ .kind = JINJA_LIST, .list = v.list };
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    if (v.kind == JINJA_DICT) {
        for (int64_t i = 0; i < v.dict->n; i++)
            jinja_value_push(run, out, v.dict->at[i].key);
    } else if (v.kind == JINJA_STRING) {
        struct view rest = v.string;
        while (rest.n > 0 && !jinja_failed(run)) {
            size_t n = jinja_value_letter_bytes(rest);
            jinja_value_push(run, out, jinja_string(view_of(rest.at, n)));
            rest = view_of(rest.at + n, rest.n - n);
        }
    } else if (v.kind != JINJA_UNDEFINED) {
        jinja_fail(run, STATUS_BAD_INPUT, "'%s' object is not iterable", jinja_value_type(v));
    }
    return out;
}

const char *jinja_value_type(struct jinja_value v)
{
    static const char *const names[] = {
        "Undefined", "NoneType", "bool",      "int",         "float", "str",    "list",
        "tuple",     "dict",     "Namespace", "LoopContext", "Macro", "method", "function",
    };
    return names[v.kind];
}

void jinja_value_refuse_undefined(struct jinja_run *run, struct jinja_value v)
{
    if (v.kind == JINJA_UNDEFINED)
        jinja_fail(run, STATUS_BAD_INPUT, "'%.*s' is undefined", (int)v.string.n,
                   v.string.n > 0 ? v.string.at : "");
}

size_t jinja_value_letter_bytes(struct view text)
{
    int n = utf8_decode(text, NULL);
    return n > 0 ? (size_t)n : 1;
}

int64_t jinja_value_letters(struct view text)
{
    int64_t n = 0;
    for (size_t i = 0; i < text.n; n++)
        i += jinja_value_letter_bytes(view_of(text.at + i, text.n - i));
    return n;
}

bool jinja_value_is_space(uint32_t c)
{
    return utf8_is_space(c) || (c >= 28 && c <= 31); /* as Python has it */
}

static bool is_stripped(struct view letter, struct view chars)
{
    uint32_t c = 0;
    if (chars.at == NULL)
        return utf8_decode(letter, &c) > 0 && jinja_value_is_space(c);
    return chars.n > 0 && memmem(chars.at, chars.n, letter.at, letter.n) != NULL;
}

struct view jinja_value_strip(struct view text, struct view chars, unsigned sides)
{
    while ((sides & JINJA_LEFT) != 0 && text.n > 0) {
        size_t n = jinja_value_letter_bytes(text);
        if (!is_stripped(view_of(text.at, n), chars))
            break;
        text = view_of(text.at + n, text.n - n);
    }
    while ((sides & JINJA_RIGHT) != 0 && text.n > 0) {
        size_t n = 1;
        while (n < 4 && n < text.n && ((unsigned char)text.at[text.n - n] & 0xC0) == 0x80)
            n++;
        if (!is_stripped(view_of(text.at + text.n - n, n), chars))
            break;
        text.n -= n;
    }
    return text;
}
