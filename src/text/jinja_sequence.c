/* Filters on sequences. Each makes a new list; sorting is a stable merge sort with bounded steps.
 */
#include "text/jinja_sequence.h"
#include "text/jinja_arith.h"
#include "text/jinja_filter.h"
#include "text/jinja_is.h"
#include "text/jinja_print.h"
#include "text/jinja_text.h"
#include <string.h>

static bool flag_arg(const struct jinja_args *args, int index, const char *name)
{
    const struct jinja_value *arg = jinja_eval_arg(args, index, name);
    return arg != NULL && jinja_value_truth(*arg);
}

/* "a.b.0" or an index of v; v itself when path is NULL or none. */
static struct jinja_value follow(struct jinja_run *run, struct jinja_value v,
                                 const struct jinja_value *path)
{
    if (path == NULL || path->kind == JINJA_NONE)
        return v;
    if (path->kind != JINJA_STRING)
        return jinja_eval_item(run, v, *path);
    struct view rest = path->string;
    while (rest.n > 0 && !jinja_failed(run)) {
        size_t n = 0;
        int64_t index = 0;
        bool is_index = true;
        for (; n < rest.n && rest.at[n] != '.'; n++) {
            is_index &= rest.at[n] >= '0' && rest.at[n] <= '9' && n < 9;
            index = is_index ? index * 10 + (rest.at[n] - '0') : 0;
        }
        struct jinja_value key =
            is_index && n > 0 ? jinja_int(index) : jinja_string(view_of(rest.at, n));
        v = jinja_eval_item(run, v, key);
        n += n < rest.n;
        rest = view_of(rest.at + n, rest.n - n);
    }
    return v;
}

static struct jinja_value fold_case(struct jinja_run *run, struct jinja_value v, bool folds)
{
    return folds && v.kind == JINJA_STRING ? jinja_text_case(run, v.string, JINJA_LOWER) : v;
}

struct jinja_value jinja_sequence_list(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    return jinja_value_items(run, v);
}

struct jinja_value jinja_sequence_join(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_args *args, int variant)
{
    (void)variant;
    const struct jinja_value *separator = jinja_eval_arg(args, 0, "d");
    const struct jinja_value *attribute = jinja_eval_arg(args, 1, "attribute");
    struct view between = separator != NULL ? jinja_print_view(run, *separator) : view_of("", 0);
    struct jinja_value items = jinja_value_items(run, v);
    if (attribute != NULL && !jinja_failed(run)) {
        struct jinja_value parts = jinja_value_list(run, JINJA_LIST);
        for (int64_t i = 0; i < items.list->n && !jinja_failed(run); i++)
            jinja_value_push(run, parts, follow(run, items.list->at[i], attribute));
        items = parts;
    }
    return jinja_failed(run) ? v : jinja_text_join(run, between, items, true);
}

struct jinja_value jinja_sequence_end(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_args *args, int is_last)
{
    (void)args;
    struct jinja_value items = jinja_value_items(run, v);
    if (jinja_failed(run))
        return v;
    int64_t n = items.list->n;
    return n == 0 ? jinja_undefined(view_of(NULL, 0)) : items.list->at[is_last ? n - 1 : 0];
}

struct jinja_value jinja_sequence_reverse(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    if (v.kind == JINJA_STRING) {
        struct jinja_value bounds[3] = { jinja_none(), jinja_none(), jinja_int(-1) };
        return jinja_arith_slice(run, v, bounds);
    }
    struct jinja_value items = jinja_value_items(run, v), out = jinja_value_list(run, JINJA_LIST);
    for (int64_t i = jinja_failed(run) ? 0 : items.list->n; i > 0; i--)
        jinja_value_push(run, out, items.list->at[i - 1]);
    return out;
}

/* Merges two sorted halves of pairs {key, value} by key; the first half wins ties. */
static void merge_halves(struct jinja_run *run, struct jinja_pair *at, int64_t n_left, int64_t n,
                         struct jinja_pair *spare, bool descends)
{
    int64_t i = 0, j = n_left, k = 0;
    while (i < n_left && j < n) {
        int order = jinja_value_order(run, at[i].key, at[j].key);
        bool takes_right = descends ? order < 0 : order > 0;
        spare[k++] = takes_right ? at[j++] : at[i++];
    }
    while (i < n_left)
        spare[k++] = at[i++];
    memcpy(at, spare, (size_t)k * sizeof(*at));
}

static void sort_pairs(struct jinja_run *run, struct jinja_pair *at, int64_t n, bool descends)
{
    struct jinja_pair *spare = jinja_take(run, (size_t)n * sizeof(*at));
    for (int64_t width = 1; width < n && spare != NULL; width *= 2) {
        for (int64_t start = 0; start + width < n && jinja_charge(run, width); start += 2 * width) {
            int64_t n_run = min_i64(2 * width, n - start);
            merge_halves(run, at + start, width, n_run, spare, descends);
        }
    }
}

struct jinja_value jinja_sequence_items(struct jinja_run *run, struct jinja_value v,
                                        const struct jinja_args *args, int sorts)
{
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    if (v.kind == JINJA_UNDEFINED)
        return out;
    if (v.kind != JINJA_DICT) {
        jinja_fail(run, STATUS_BAD_INPUT, "can only get item pairs from a mapping");
        return out;
    }
    int64_t n = v.dict->n;
    struct jinja_pair *order = jinja_take(run, (size_t)(n + 1) * sizeof(*order));
    if (order == NULL)
        return out;
    bool folds = !flag_arg(args, 0, "case_sensitive");
    const struct jinja_value *by = jinja_eval_arg(args, 1, "by");
    bool by_value = by != NULL && by->kind == JINJA_STRING && view_equal_text(by->string, "value");
    for (int64_t i = 0; i < n; i++) {
        struct jinja_value item = jinja_value_list(run, JINJA_TUPLE);
        jinja_value_push(run, item, v.dict->at[i].key);
        jinja_value_push(run, item, v.dict->at[i].value);
        struct jinja_value key = by_value ? v.dict->at[i].value : v.dict->at[i].key;
        order[i] = (struct jinja_pair){ fold_case(run, key, folds && sorts), item };
    }
    if (sorts)
        sort_pairs(run, order, n, flag_arg(args, 2, "reverse"));
    for (int64_t i = 0; i < n && !jinja_failed(run); i++)
        jinja_value_push(run, out, order[i].value);
    return out;
}

struct jinja_value jinja_sequence_sort(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_args *args, int variant)
{
    (void)variant;
    struct jinja_value items = jinja_value_items(run, v), out = jinja_value_list(run, JINJA_LIST);
    if (jinja_failed(run))
        return out;
    int64_t n = items.list->n;
    struct jinja_pair *order = jinja_take(run, (size_t)(n + 1) * sizeof(*order));
    const struct jinja_value *attribute = jinja_eval_arg(args, 2, "attribute");
    bool folds = !flag_arg(args, 1, "case_sensitive");
    for (int64_t i = 0; i < n && order != NULL && !jinja_failed(run); i++)
        order[i] =
            (struct jinja_pair){ fold_case(run, follow(run, items.list->at[i], attribute), folds),
                                 items.list->at[i] };
    if (!jinja_failed(run))
        sort_pairs(run, order, n, flag_arg(args, 0, "reverse"));
    for (int64_t i = 0; i < n && !jinja_failed(run); i++)
        jinja_value_push(run, out, order[i].value);
    return out;
}

struct jinja_value jinja_sequence_unique(struct jinja_run *run, struct jinja_value v,
                                         const struct jinja_args *args, int variant)
{
    (void)variant;
    struct jinja_value items = jinja_value_items(run, v), out = jinja_value_list(run, JINJA_LIST);
    struct jinja_value keys = jinja_value_list(run, JINJA_LIST);
    bool folds = !flag_arg(args, 0, "case_sensitive");
    const struct jinja_value *attribute = jinja_eval_arg(args, 1, "attribute");
    for (int64_t i = 0; !jinja_failed(run) && i < items.list->n; i++) {
        struct jinja_value key = fold_case(run, follow(run, items.list->at[i], attribute), folds);
        if (jinja_failed(run) || jinja_value_in(run, key, keys))
            continue;
        jinja_value_push(run, keys, key);
        jinja_value_push(run, out, items.list->at[i]);
    }
    return out;
}

struct jinja_value jinja_sequence_extreme(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_args *args, int is_max)
{
    struct jinja_value items = jinja_value_items(run, v);
    bool folds = !flag_arg(args, 0, "case_sensitive");
    const struct jinja_value *attribute = jinja_eval_arg(args, 1, "attribute");
    struct jinja_value best = jinja_undefined(view_of(NULL, 0)), best_key = best;
    for (int64_t i = 0; !jinja_failed(run) && i < items.list->n; i++) {
        struct jinja_value key = fold_case(run, follow(run, items.list->at[i], attribute), folds);
        int order = i == 0 || jinja_failed(run) ? 0 : jinja_value_order(run, key, best_key);
        if (i == 0 || (is_max ? order > 0 : order < 0)) {
            best = items.list->at[i];
            best_key = key;
        }
    }
    return best;
}

struct jinja_value jinja_sequence_sum(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_args *args, int variant)
{
    (void)variant;
    struct jinja_value items = jinja_value_items(run, v);
    const struct jinja_value *attribute = jinja_eval_arg(args, 0, "attribute");
    const struct jinja_value *start = jinja_eval_arg(args, 1, "start");
    struct jinja_value total = start != NULL ? *start : jinja_int(0);
    for (int64_t i = 0; !jinja_failed(run) && i < items.list->n; i++) {
        struct jinja_value item = follow(run, items.list->at[i], attribute);
        if (!jinja_failed(run))
            total = jinja_arith_binary(run, JINJA_ADD, total, item);
    }
    return total;
}

/* The arguments behind the first n. */
static struct jinja_args shift(const struct jinja_args *args, int n)
{
    struct jinja_args rest = *args;
    rest.n = args->n > n ? args->n - n : 0;
    memmove(rest.at, rest.at + (args->n > n ? n : 0), (size_t)rest.n * sizeof(rest.at[0]));
    return rest;
}

struct jinja_value jinja_sequence_map(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_args *args, int variant)
{
    (void)variant;
    const struct jinja_value *attribute = jinja_eval_arg(args, -1, "attribute");
    const struct jinja_value *fallback = jinja_eval_arg(args, -1, "default");
    struct jinja_value items = jinja_value_items(run, v), out = jinja_value_list(run, JINJA_LIST);
    struct jinja_args rest = shift(args, 1);
    if (attribute == NULL && (args->n == 0 || args->at[0].kind != JINJA_STRING))
        jinja_fail(run, STATUS_BAD_INPUT, "map needs a filter's name or an attribute");
    for (int64_t i = 0; !jinja_failed(run) && i < items.list->n; i++) {
        struct jinja_value item = items.list->at[i];
        if (attribute == NULL)
            item = jinja_filter_apply(run, args->at[0].string, item, &rest);
        else
            item = follow(run, item, attribute);
        if (attribute != NULL && item.kind == JINJA_UNDEFINED && fallback != NULL)
            item = *fallback;
        jinja_value_push(run, out, item);
    }
    return out;
}

struct jinja_value jinja_sequence_select(struct jinja_run *run, struct jinja_value v,
                                         const struct jinja_args *args, int how)
{
    bool has_attribute = how >= JINJA_SELECT_ATTR, rejects = (how & 1) != 0;
    int n_skip = has_attribute ? 1 : 0;
    struct jinja_value items = jinja_value_items(run, v), out = jinja_value_list(run, JINJA_LIST);
    struct jinja_args rest = shift(args, n_skip + 1);
    const struct jinja_value *test = args->n > n_skip ? &args->at[n_skip] : NULL;
    if (has_attribute && args->n == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "selectattr and rejectattr need an attribute");
    if (test != NULL && test->kind != JINJA_STRING)
        jinja_fail(run, STATUS_BAD_INPUT, "a test's name is expected");
    for (int64_t i = 0; !jinja_failed(run) && i < items.list->n; i++) {
        struct jinja_value item = items.list->at[i];
        struct jinja_value seen = has_attribute ? follow(run, item, &args->at[0]) : item;
        bool passes =
            test == NULL ? jinja_value_truth(seen) : jinja_is_apply(run, test->string, seen, &rest);
        if (passes != rejects)
            jinja_value_push(run, out, item);
    }
    return out;
}

struct jinja_value jinja_sequence_attr(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_args *args, int variant)
{
    (void)variant;
    if (args->n == 0 || args->at[0].kind != JINJA_STRING) {
        jinja_fail(run, STATUS_BAD_INPUT, "attr needs a name");
        return v;
    }
    if (v.kind == JINJA_DICT) /* attributes only, not members */
        return jinja_undefined(args->at[0].string);
    return jinja_eval_attr(run, v, args->at[0].string);
}
