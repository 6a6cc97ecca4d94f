/* Methods of str, list, dict and loop. What would change a value is refused, as the
 * immutable sandbox does. */
#include "text/jinja_method.h"
#include "text/jinja_print.h"
#include "text/jinja_text.h"
#include <string.h>

typedef struct jinja_value method_function(struct jinja_run *run, struct jinja_value self,
                                           const struct jinja_args *args, int variant);

/* A string argument; the fallback when it is absent or none. */
static struct view text_arg(struct jinja_run *run, const struct jinja_args *args, int index,
                            const char *name, struct view fallback)
{
    const struct jinja_value *arg = jinja_eval_arg(args, index, name);
    if (arg == NULL || arg->kind == JINJA_NONE)
        return fallback;
    if (arg->kind != JINJA_STRING) {
        jinja_value_refuse_undefined(run, *arg);
        jinja_fail(run, STATUS_BAD_INPUT, "a str argument is expected, not %s",
                   jinja_value_type(*arg));
        return view_of("", 0);
    }
    return arg->string.at == NULL ? view_of("", 0) : arg->string;
}

static int64_t int_arg(struct jinja_run *run, const struct jinja_args *args, int index,
                       const char *name, int64_t fallback)
{
    const struct jinja_value *arg = jinja_eval_arg(args, index, name);
    if (arg == NULL)
        return fallback;
    if (arg->kind != JINJA_INT && arg->kind != JINJA_BOOL)
        jinja_fail(run, STATUS_BAD_INPUT, "an int argument is expected, not %s",
                   jinja_value_type(*arg));
    return jinja_value_int(*arg);
}

static struct jinja_value m_strip(struct jinja_run *run, struct jinja_value self,
                                  const struct jinja_args *args, int variant)
{
    struct view chars = text_arg(run, args, 0, "chars", view_of(NULL, 0));
    return jinja_string(jinja_value_strip(self.string, chars, (unsigned)variant));
}

static struct jinja_value m_case(struct jinja_run *run, struct jinja_value self,
                                 const struct jinja_args *args, int variant)
{
    (void)args;
    return jinja_text_case(run, self.string, (enum jinja_case)variant);
}

static bool has_affix(struct view text, struct view affix, bool at_end)
{
    return affix.n <= text.n &&
           (affix.n == 0 ||
            memcmp(at_end ? text.at + text.n - affix.n : text.at, affix.at, affix.n) == 0);
}

static struct jinja_value m_affix(struct jinja_run *run, struct jinja_value self,
                                  const struct jinja_args *args, int variant)
{
    const struct jinja_value *affix = jinja_eval_arg(args, 0, NULL);
    bool found = false;
    if (affix != NULL && affix->kind == JINJA_TUPLE) {
        for (int64_t i = 0; i < affix->list->n; i++)
            found |= affix->list->at[i].kind == JINJA_STRING &&
                     has_affix(self.string, affix->list->at[i].string, variant == 1);
        return jinja_bool(found);
    }
    struct view text = text_arg(run, args, 0, NULL, view_of(NULL, 0));
    if (text.at == NULL)
        jinja_fail(run, STATUS_BAD_INPUT, "first arg must be str or a tuple of str");
    return jinja_bool(has_affix(self.string, text, variant == 1));
}

static struct jinja_value m_remove(struct jinja_run *run, struct jinja_value self,
                                   const struct jinja_args *args, int variant)
{
    struct view text = self.string, affix = text_arg(run, args, 0, NULL, view_of("", 0));
    if (!has_affix(text, affix, variant == 1))
        return self;
    return jinja_string(view_of(variant == 1 ? text.at : text.at + affix.n, text.n - affix.n));
}

static struct jinja_value m_replace(struct jinja_run *run, struct jinja_value self,
                                    const struct jinja_args *args, int variant)
{
    (void)variant;
    struct view old = text_arg(run, args, 0, NULL, view_of(NULL, 0));
    struct view with = text_arg(run, args, 1, NULL, view_of(NULL, 0));
    if (old.at == NULL || with.at == NULL)
        jinja_fail(run, STATUS_BAD_INPUT, "replace needs two strings");
    return jinja_failed(run) ? self
                             : jinja_text_replace(run, self.string, old, with,
                                                  int_arg(run, args, 2, "count", -1));
}

static struct jinja_value m_split(struct jinja_run *run, struct jinja_value self,
                                  const struct jinja_args *args, int variant)
{
    struct view separator = text_arg(run, args, 0, "sep", view_of(NULL, 0));
    int64_t limit = int_arg(run, args, 1, "maxsplit", -1);
    return jinja_failed(run) ? self
                             : jinja_text_split(run, self.string, separator, limit, variant == 1);
}

static struct jinja_value m_lines(struct jinja_run *run, struct jinja_value self,
                                  const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    return jinja_text_lines(run, self.string);
}

static struct jinja_value m_join(struct jinja_run *run, struct jinja_value self,
                                 const struct jinja_args *args, int variant)
{
    (void)variant;
    const struct jinja_value *items = jinja_eval_arg(args, 0, NULL);
    if (items == NULL) {
        jinja_fail(run, STATUS_BAD_INPUT, "join needs an iterable");
        return self;
    }
    return jinja_text_join(run, self.string, *items, false);
}

enum { FIND_FIRST, FIND_LAST, FIND_INDEX };

static struct jinja_value m_find(struct jinja_run *run, struct jinja_value self,
                                 const struct jinja_args *args, int variant)
{
    struct view what = text_arg(run, args, 0, NULL, view_of("", 0));
    int64_t at = jinja_text_find(run, self.string, what, variant == FIND_LAST);
    if (at < 0 && variant == FIND_INDEX)
        jinja_fail(run, STATUS_BAD_INPUT, "substring not found");
    return jinja_int(at);
}

static struct jinja_value m_count(struct jinja_run *run, struct jinja_value self,
                                  const struct jinja_args *args, int variant)
{
    (void)variant;
    struct view what = text_arg(run, args, 0, NULL, view_of("", 0)), rest = self.string;
    if (what.n == 0)
        return jinja_int(jinja_value_letters(rest) + 1);
    int64_t n = 0;
    const char *found;
    while (rest.n > 0 && jinja_charge(run, 1) &&
           (found = memmem(rest.at, rest.n, what.at, what.n)) != NULL) {
        rest = view_of(found + what.n, rest.n - (size_t)(found - rest.at) - what.n);
        n++;
    }
    return jinja_int(n);
}

enum { ALL_DIGITS, ALL_ALPHA, ALL_ALNUM, ALL_SPACE, ALL_UPPER, ALL_LOWER };

static struct jinja_value m_all(struct jinja_run *run, struct jinja_value self,
                                const struct jinja_args *args, int variant)
{
    (void)run, (void)args;
    bool all = self.string.n > 0, any_case = false;
    for (size_t i = 0; i < self.string.n; i++) {
        char c = self.string.at[i];
        bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'z',
             upper = c >= 'A' && c <= 'Z', letter = lower || upper || (unsigned char)c >= 128;
        any_case |= lower || upper;
        all &= variant == ALL_DIGITS  ? digit
               : variant == ALL_ALPHA ? letter
               : variant == ALL_ALNUM ? letter || digit
               : variant == ALL_SPACE ? (c >= 9 && c <= 13) || (c >= 28 && c <= 32)
               : variant == ALL_UPPER ? !lower
                                      : !upper;
    }
    return jinja_bool(all && (variant < ALL_UPPER || any_case));
}

enum { DICT_ITEMS, DICT_KEYS, DICT_VALUES };

static struct jinja_value m_items(struct jinja_run *run, struct jinja_value self,
                                  const struct jinja_args *args, int variant)
{
    (void)args;
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    for (int64_t i = 0; i < self.dict->n && !jinja_failed(run); i++) {
        struct jinja_pair pair = self.dict->at[i];
        struct jinja_value item = variant == DICT_KEYS ? pair.key : pair.value;
        if (variant == DICT_ITEMS) {
            item = jinja_value_list(run, JINJA_TUPLE);
            jinja_value_push(run, item, pair.key);
            jinja_value_push(run, item, pair.value);
        }
        jinja_value_push(run, out, item);
    }
    return out;
}

static struct jinja_value m_get(struct jinja_run *run, struct jinja_value self,
                                const struct jinja_args *args, int variant)
{
    (void)variant;
    const struct jinja_value *key = jinja_eval_arg(args, 0, NULL);
    const struct jinja_value *fallback = jinja_eval_arg(args, 1, NULL);
    if (key == NULL)
        jinja_fail(run, STATUS_BAD_INPUT, "get needs a key");
    const struct jinja_value *found =
        jinja_failed(run) ? NULL : jinja_value_find(run, self.dict, *key);
    return found != NULL ? *found : fallback != NULL ? *fallback : jinja_none();
}

static struct jinja_value m_copy(struct jinja_run *run, struct jinja_value self,
                                 const struct jinja_args *args, int variant)
{
    (void)run, (void)args, (void)variant;
    return self; /* nothing can tell it from a copy */
}

static struct jinja_value m_list_find(struct jinja_run *run, struct jinja_value self,
                                      const struct jinja_args *args, int variant)
{
    const struct jinja_value *what = jinja_eval_arg(args, 0, NULL);
    int64_t n = 0;
    for (int64_t i = 0; what != NULL && i < self.list->n; i++) {
        bool is_it = jinja_value_equal(run, self.list->at[i], *what);
        if (is_it && variant == FIND_INDEX)
            return jinja_int(i);
        n += is_it;
    }
    if (variant == FIND_INDEX)
        jinja_fail(run, STATUS_BAD_INPUT, "the value is not in the list");
    return jinja_int(n);
}

static struct jinja_value m_cycle(struct jinja_run *run, struct jinja_value self,
                                  const struct jinja_args *args, int variant)
{
    (void)variant;
    if (args->n == 0) {
        jinja_fail(run, STATUS_BAD_INPUT, "no items for cycling given");
        return self;
    }
    return args->at[self.loop->index % args->n];
}

static struct jinja_value m_changed(struct jinja_run *run, struct jinja_value self,
                                    const struct jinja_args *args, int variant)
{
    (void)variant;
    struct jinja_value now = args->n > 0 ? args->at[0] : jinja_none();
    bool changed = !self.loop->has_changed || !jinja_value_equal(run, self.loop->last_changed, now);
    self.loop->has_changed = true;
    self.loop->last_changed = now;
    return jinja_bool(changed);
}

static struct jinja_value m_unsafe(struct jinja_run *run, struct jinja_value self,
                                   const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    jinja_fail(run, STATUS_BAD_INPUT, "a '%s' can't be changed", jinja_value_type(self));
    return self;
}

static const struct {
    enum jinja_kind kind;
    const char *name;
    method_function *call;
    int variant;
} methods[] = {
    { JINJA_STRING, "strip", m_strip, JINJA_LEFT | JINJA_RIGHT },
    { JINJA_STRING, "lstrip", m_strip, JINJA_LEFT },
    { JINJA_STRING, "rstrip", m_strip, JINJA_RIGHT },
    { JINJA_STRING, "upper", m_case, JINJA_UPPER },
    { JINJA_STRING, "lower", m_case, JINJA_LOWER },
    { JINJA_STRING, "title", m_case, JINJA_TITLE },
    { JINJA_STRING, "capitalize", m_case, JINJA_CAPITALIZE },
    { JINJA_STRING, "startswith", m_affix, 0 },
    { JINJA_STRING, "endswith", m_affix, 1 },
    { JINJA_STRING, "removeprefix", m_remove, 0 },
    { JINJA_STRING, "removesuffix", m_remove, 1 },
    { JINJA_STRING, "replace", m_replace, 0 },
    { JINJA_STRING, "split", m_split, 0 },
    { JINJA_STRING, "rsplit", m_split, 1 },
    { JINJA_STRING, "splitlines", m_lines, 0 },
    { JINJA_STRING, "join", m_join, 0 },
    { JINJA_STRING, "find", m_find, FIND_FIRST },
    { JINJA_STRING, "rfind", m_find, FIND_LAST },
    { JINJA_STRING, "index", m_find, FIND_INDEX },
    { JINJA_STRING, "count", m_count, 0 },
    { JINJA_STRING, "isdigit", m_all, ALL_DIGITS },
    { JINJA_STRING, "isnumeric", m_all, ALL_DIGITS },
    { JINJA_STRING, "isalpha", m_all, ALL_ALPHA },
    { JINJA_STRING, "isalnum", m_all, ALL_ALNUM },
    { JINJA_STRING, "isspace", m_all, ALL_SPACE },
    { JINJA_STRING, "isupper", m_all, ALL_UPPER },
    { JINJA_STRING, "islower", m_all, ALL_LOWER },
    { JINJA_DICT, "items", m_items, DICT_ITEMS },
    { JINJA_DICT, "keys", m_items, DICT_KEYS },
    { JINJA_DICT, "values", m_items, DICT_VALUES },
    { JINJA_DICT, "get", m_get, 0 },
    { JINJA_DICT, "copy", m_copy, 0 },
    { JINJA_DICT, "update", m_unsafe, 0 },
    { JINJA_DICT, "pop", m_unsafe, 0 },
    { JINJA_DICT, "setdefault", m_unsafe, 0 },
    { JINJA_DICT, "clear", m_unsafe, 0 },
    { JINJA_LIST, "index", m_list_find, FIND_INDEX },
    { JINJA_LIST, "count", m_list_find, FIND_FIRST },
    { JINJA_LIST, "copy", m_copy, 0 },
    { JINJA_LIST, "append", m_unsafe, 0 },
    { JINJA_LIST, "extend", m_unsafe, 0 },
    { JINJA_LIST, "insert", m_unsafe, 0 },
    { JINJA_LIST, "pop", m_unsafe, 0 },
    { JINJA_LIST, "remove", m_unsafe, 0 },
    { JINJA_LIST, "reverse", m_unsafe, 0 },
    { JINJA_LIST, "sort", m_unsafe, 0 },
    { JINJA_TUPLE, "index", m_list_find, FIND_INDEX },
    { JINJA_TUPLE, "count", m_list_find, FIND_FIRST },
    { JINJA_LOOP, "cycle", m_cycle, 0 },
    { JINJA_LOOP, "changed", m_changed, 0 },
};

static int find_method(struct jinja_value self, struct view name)
{
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (methods[i].kind == self.kind && view_equal_text(name, methods[i].name))
            return (int)i;
    }
    return -1;
}

bool jinja_method_is_known(struct jinja_value self, struct view name)
{
    return find_method(self, name) >= 0;
}

struct jinja_value jinja_method_call(struct jinja_run *run, const struct jinja_method *method,
                                     const struct jinja_args *args)
{
    int i = find_method(method->self, method->name);
    struct jinja_value self = method->self;
    if (self.kind == JINJA_STRING && self.string.at == NULL)
        self.string.at = "";
    return i < 0 ? jinja_none() : methods[i].call(run, self, args, methods[i].variant);
}
