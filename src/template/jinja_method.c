/* The table of methods, and the methods of lists, dicts, loops and numbers.
 *
 * Each public attribute that the type has in Python has a row. It is called, or is undefined
 * because the sandbox forbids it, or is refused by name. */
#include "template/jinja_method.h"
#include "template/jinja_case.h"
#include "template/jinja_compare.h"
#include "template/jinja_iter.h"
#include "template/jinja_text.h"
#include <math.h>

static struct jinja_value m_view(struct jinja_run *run, struct jinja_value self,
                                 const struct jinja_value *const *given,
                                 const struct jinja_args *args, int mark)
{
    (void)run, (void)given, (void)args;
    return (
        struct jinja_value){ .kind = JINJA_VIEW, .mark = (enum jinja_mark)mark, .dict = self.dict };
}

static struct jinja_value m_get(struct jinja_run *run, struct jinja_value self,
                                const struct jinja_value *const *given,
                                const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    if (!jinja_value_check_key(run, *given[0]))
        return self;
    const struct jinja_value *found = jinja_value_find(run, self.dict, *given[0]);
    return found != NULL ? *found : given[1] != NULL ? *given[1] : jinja_none();
}

static struct jinja_value m_copy(struct jinja_run *run, struct jinja_value self,
                                 const struct jinja_value *const *given,
                                 const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    if (self.kind != JINJA_DICT)
        return jinja_iter_list(run, self);
    struct jinja_value out = jinja_value_dict(run, JINJA_DICT);
    for (int64_t i = 0; i < self.dict->n && !jinja_failed(run); i++)
        jinja_value_set(run, out.dict, self.dict->at[i].key, self.dict->at[i].value);
    return out;
}

enum { COUNT_ALL, FIND_ONE };

/* count(value), and index(value, start, stop). */
static struct jinja_value m_search(struct jinja_run *run, struct jinja_value self,
                                   const struct jinja_value *const *given,
                                   const struct jinja_args *args, int variant)
{
    (void)args;
    struct jinja_value items = self.kind == JINJA_RANGE ? jinja_iter_list(run, self) : self;
    int64_t n = jinja_failed(run) ? 0 : items.list->n, found = 0, start = 0, end = n;
    if (variant == FIND_ONE && self.kind != JINJA_RANGE) {
        start = jinja_args_int(run, given[1], 0);
        end = jinja_args_int(run, given[2], n);
        start = start < 0 ? max_i64(start + n, 0) : start;
        end = end < 0 ? end + n : min_i64(end, n);
    }
    for (int64_t i = start; i < end && !jinja_failed(run); i++) {
        bool is_it = jinja_compare_same(run, items.list->at[i], *given[0]);
        if (is_it && variant == FIND_ONE)
            return jinja_int(i);
        found += is_it;
    }
    if (variant == FIND_ONE)
        jinja_fail(run, STATUS_BAD_INPUT, "the value is not in the list");
    return jinja_int(found);
}

static struct jinja_value m_cycle(struct jinja_run *run, struct jinja_value self,
                                  const struct jinja_value *const *given,
                                  const struct jinja_args *args, int variant)
{
    (void)given, (void)variant;
    if (args->n == 0 || args->n_named > 0) {
        jinja_fail(run, STATUS_BAD_INPUT, "no items for cycling given");
        return self;
    }
    return args->at[self.loop->index0 % args->n];
}

static struct jinja_value m_changed(struct jinja_run *run, struct jinja_value self,
                                    const struct jinja_value *const *given,
                                    const struct jinja_args *args, int variant)
{
    (void)given, (void)variant;
    struct jinja_value now = jinja_value_list(run, JINJA_TUPLE);
    if (args->n_named > 0)
        jinja_fail(run, STATUS_BAD_INPUT, "changed takes no arguments by name");
    for (int64_t i = 0; i < args->n && !jinja_failed(run); i++)
        jinja_value_push(run, now, args->at[i]);
    bool has_changed = jinja_failed(run) || self.loop->changed.kind == JINJA_MISSING ||
                       !jinja_compare_equal(run, self.loop->changed, now);
    if (has_changed)
        self.loop->changed = now;
    return jinja_bool(has_changed);
}

static struct jinja_value m_cycler(struct jinja_run *run, struct jinja_value self,
                                   const struct jinja_value *const *given,
                                   const struct jinja_args *args, int resets)
{
    (void)run, (void)given, (void)args;
    struct jinja_cycler *cycler = self.cycler;
    struct jinja_value item = cycler->items->at[cycler->position];
    cycler->position = resets ? 0 : (cycler->position + 1) % cycler->items->n;
    return resets ? jinja_none() : item;
}

enum { BIT_LENGTH, BIT_COUNT, ITSELF, IS_INTEGER };

static struct jinja_value m_number(struct jinja_run *run, struct jinja_value self,
                                   const struct jinja_value *const *given,
                                   const struct jinja_args *args, int variant)
{
    (void)run, (void)given, (void)args;
    if (self.kind == JINJA_FLOAT)
        return variant == IS_INTEGER
                   ? jinja_bool(isfinite(self.real) && self.real == floor(self.real))
                   : self;
    int64_t i = jinja_value_int(self), n = 0;
    uint64_t bits = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    for (; bits > 0 && variant != ITSELF; bits >>= 1)
        n += variant == BIT_LENGTH || (bits & 1) != 0;
    return jinja_int(variant == ITSELF ? i : n);
}

enum row_kind { CALLED, UNSAFE, REFUSED };
struct jinja_method_row {
    enum jinja_kind kind;
    const char *name;
    enum row_kind how;
    jinja_callee *call;
    const char *parameters; /* NULL: it binds none */
    int variant;
};
#define TEXT(name, call, parameters, variant)                                                      \
    {                                                                                              \
        JINJA_STRING, name, CALLED, jinja_method_text_##call, parameters, variant                  \
    }
#define CALL(kind, name, call, parameters, variant)                                                \
    {                                                                                              \
        JINJA_##kind, name, CALLED, call, parameters, variant                                      \
    }
#define UNSAFE_ROW(kind, name)                                                                     \
    {                                                                                              \
        JINJA_##kind, name, UNSAFE, NULL, NULL, 0                                                  \
    }
#define REFUSED_ROW(kind, name)                                                                    \
    {                                                                                              \
        JINJA_##kind, name, REFUSED, NULL, NULL, 0                                                 \
    }

static const struct jinja_method_row rows[] = {
    TEXT("strip", strip, "-chars?", JINJA_LEFT | JINJA_RIGHT),
    TEXT("lstrip", strip, "-chars?", JINJA_LEFT),
    TEXT("rstrip", strip, "-chars?", JINJA_RIGHT),
    TEXT("upper", change, "", JINJA_TO_UPPER),
    TEXT("lower", change, "", JINJA_TO_LOWER),
    TEXT("title", change, "", JINJA_TO_TITLE),
    TEXT("capitalize", change, "", JINJA_TO_CAPITALIZED),
    TEXT("swapcase", change, "", JINJA_TO_SWAPPED),
    TEXT("casefold", change, "", JINJA_TO_FOLDED),
    TEXT("startswith", affix, "-prefix -start? -end?", JINJA_AT_START),
    TEXT("endswith", affix, "-suffix -start? -end?", JINJA_AT_END),
    TEXT("removeprefix", remove, "-prefix", JINJA_AT_START),
    TEXT("removesuffix", remove, "-suffix", JINJA_AT_END),
    TEXT("replace", replace, "-old -new -count?", 0),
    TEXT("split", split, "sep? maxsplit?", 0),
    TEXT("rsplit", split, "sep? maxsplit?", 1),
    TEXT("splitlines", lines, "keepends?", 0),
    TEXT("join", join, "-iterable", 0),
    TEXT("find", find, "-sub -start? -end?", JINJA_FIND_FIRST),
    TEXT("rfind", find, "-sub -start? -end?", JINJA_FIND_LAST),
    TEXT("index", find, "-sub -start? -end?", JINJA_INDEX_FIRST),
    TEXT("rindex", find, "-sub -start? -end?", JINJA_INDEX_LAST),
    TEXT("count", count, "-sub -start? -end?", 0),
    TEXT("center", pad, "-width -fillchar?", JINJA_LEFT | JINJA_RIGHT),
    TEXT("ljust", pad, "-width -fillchar?", JINJA_RIGHT),
    TEXT("rjust", pad, "-width -fillchar?", JINJA_LEFT),
    TEXT("zfill", zfill, "-width", 0),
    TEXT("expandtabs", tabs, "tabsize?", 0),
    TEXT("partition", partition, "-sep", 0),
    TEXT("rpartition", partition, "-sep", 1),
    TEXT("format", format, NULL, 0),
    TEXT("format_map", format_map, "-mapping", 0),
    TEXT("isidentifier", identifier, "", 0),
    TEXT("isalpha", is, "", JINJA_ALL_ALPHA),
    TEXT("isalnum", is, "", JINJA_ALL_ALNUM),
    TEXT("isascii", is, "", JINJA_ALL_ASCII),
    TEXT("isdecimal", is, "", JINJA_ALL_DECIMAL),
    TEXT("isdigit", is, "", JINJA_ALL_DIGIT),
    TEXT("isnumeric", is, "", JINJA_ALL_NUMERIC),
    TEXT("isspace", is, "", JINJA_ALL_SPACE),
    TEXT("isprintable", is, "", JINJA_ALL_PRINTABLE),
    TEXT("islower", is, "", JINJA_ALL_LOWER),
    TEXT("isupper", is, "", JINJA_ALL_UPPER),
    TEXT("istitle", is, "", JINJA_ALL_TITLE),
    REFUSED_ROW(STRING, "encode"),
    REFUSED_ROW(STRING, "maketrans"),
    REFUSED_ROW(STRING, "translate"),
    CALL(DICT, "items", m_view, "", JINJA_ITEMS),
    CALL(DICT, "keys", m_view, "", JINJA_KEYS),
    CALL(DICT, "values", m_view, "", JINJA_VALUES),
    CALL(DICT, "get", m_get, "-key -default?", 0),
    CALL(DICT, "copy", m_copy, "", 0),
    REFUSED_ROW(DICT, "fromkeys"),
    UNSAFE_ROW(DICT, "clear"),
    UNSAFE_ROW(DICT, "pop"),
    UNSAFE_ROW(DICT, "popitem"),
    UNSAFE_ROW(DICT, "setdefault"),
    UNSAFE_ROW(DICT, "update"),
    CALL(LIST, "index", m_search, "-value -start? -stop?", FIND_ONE),
    CALL(LIST, "count", m_search, "-value", COUNT_ALL),
    CALL(LIST, "copy", m_copy, "", 0),
    UNSAFE_ROW(LIST, "append"),
    UNSAFE_ROW(LIST, "clear"),
    UNSAFE_ROW(LIST, "extend"),
    UNSAFE_ROW(LIST, "insert"),
    UNSAFE_ROW(LIST, "pop"),
    UNSAFE_ROW(LIST, "remove"),
    UNSAFE_ROW(LIST, "reverse"),
    UNSAFE_ROW(LIST, "sort"),
    CALL(TUPLE, "index", m_search, "-value -start? -stop?", FIND_ONE),
    CALL(TUPLE, "count", m_search, "-value", COUNT_ALL),
    CALL(RANGE, "index", m_search, "-value", FIND_ONE),
    CALL(RANGE, "count", m_search, "-value", COUNT_ALL),
    CALL(LOOP, "cycle", m_cycle, NULL, 0),
    CALL(LOOP, "changed", m_changed, NULL, 0),
    CALL(CYCLER, "next", m_cycler, "", 0),
    CALL(CYCLER, "reset", m_cycler, "", 1),
    CALL(INT, "bit_length", m_number, "", BIT_LENGTH),
    CALL(INT, "bit_count", m_number, "", BIT_COUNT),
    CALL(INT, "conjugate", m_number, "", ITSELF),
    REFUSED_ROW(INT, "as_integer_ratio"),
    REFUSED_ROW(INT, "from_bytes"),
    REFUSED_ROW(INT, "is_integer"),
    REFUSED_ROW(INT, "to_bytes"),
    CALL(FLOAT, "conjugate", m_number, "", ITSELF),
    CALL(FLOAT, "is_integer", m_number, "", IS_INTEGER),
    REFUSED_ROW(FLOAT, "as_integer_ratio"),
    REFUSED_ROW(FLOAT, "fromhex"),
    REFUSED_ROW(FLOAT, "from_number"),
    REFUSED_ROW(FLOAT, "hex"),
    REFUSED_ROW(VIEW, "isdisjoint"),
    REFUSED_ROW(VIEW, "mapping"),
    REFUSED_ROW(ITERATOR, "close"),
    REFUSED_ROW(ITERATOR, "send"),
    REFUSED_ROW(ITERATOR, "throw"),
    REFUSED_ROW(ITERATOR, "gi_running"),
    REFUSED_ROW(ITERATOR, "gi_suspended"),
    REFUSED_ROW(ITERATOR, "gi_yieldfrom"),
};

const struct jinja_method_row *jinja_method_find(struct jinja_value self, struct view name)
{
    enum jinja_kind kind = self.kind == JINJA_BOOL ? JINJA_INT : self.kind;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].kind == kind && view_equal_text(name, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

bool jinja_method_is_unsafe(const struct jinja_method_row *row)
{
    return row->how == UNSAFE;
}

void jinja_method_check(struct jinja_run *run, const struct jinja_method_row *row,
                        struct jinja_value self)
{
    if (row->how == REFUSED)
        jinja_fail(run, STATUS_UNSUPPORTED, "the method '%s' of a %s", row->name,
                   jinja_value_type(self));
}

bool jinja_method_is_refused(struct view name)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].how == REFUSED && view_equal_text(name, rows[i].name))
            return true;
    }
    return false;
}

struct jinja_value jinja_method_bind(struct jinja_run *run, const struct jinja_method_row *row,
                                     struct jinja_value self)
{
    struct jinja_method *method = jinja_take(run, sizeof(*method));
    if (method == NULL)
        return jinja_none();
    *method = (struct jinja_method){ self, row };
    return (struct jinja_value){ .kind = JINJA_METHOD, .method = method };
}

struct jinja_value jinja_method_call(struct jinja_run *run, const struct jinja_method *method,
                                     const struct jinja_args *args)
{
    const struct jinja_value *given[JINJA_PARAMETERS_MAX] = { NULL };
    const struct jinja_method_row *row = method->row;
    struct jinja_value self = method->self;
    if (self.kind == JINJA_STRING && self.string.at == NULL)
        self.string.at = "";
    if (row->parameters != NULL && !jinja_args_bind(run, args, row->parameters, given))
        return jinja_none();
    struct jinja_value result = row->call(run, self, given, args, row->variant);
    return jinja_failed(run) ? jinja_none() : result;
}
