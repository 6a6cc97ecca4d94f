/* Filters on sequences. By default sorting and grouping ignore case, as in jinja2. */
#include "template/jinja_sequence.h"
#include "template/jinja_arith.h"
#include "template/jinja_case.h"
#include "template/jinja_compare.h"
#include "template/jinja_iter.h"
#include "template/jinja_path.h"
#include "template/jinja_print.h"
#include "template/jinja_sort.h"
#include "template/jinja_text.h"

struct jinja_value jinja_sequence_list(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *const *given,
                                       const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    return jinja_iter_list(run, v);
}

/* Returns the items, each replaced by the value of its attribute. Without an attribute it returns v
 * itself. */
static struct jinja_value of_attribute(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *attribute)
{
    if (attribute == NULL || attribute->kind == JINJA_NONE)
        return v;
    struct jinja_value parts = jinja_path_parts(run, attribute), item;
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    struct jinja_iter *iter = jinja_iter_open(run, v);
    while (iter != NULL && jinja_iter_next(run, iter, &item))
        jinja_value_push(run, out, jinja_path_follow(run, item, parts, NULL, false));
    return out;
}

struct jinja_value jinja_sequence_join(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *const *given,
                                       const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct jinja_value items = of_attribute(run, v, given[1]);
    struct view between = given[0] != NULL ? jinja_print_view(run, *given[0]) : view_of("", 0);
    return jinja_failed(run) ? v : jinja_text_join(run, between, items, true);
}

struct jinja_value jinja_sequence_end(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_value *const *given,
                                      const struct jinja_args *args, int is_last)
{
    (void)given, (void)args;
    struct jinja_value item;
    struct jinja_iter *iter = is_last ? jinja_iter_open_reversed(run, v) : jinja_iter_open(run, v);
    if (iter == NULL)
        jinja_fail(run, STATUS_BAD_INPUT, "'%s' object is not reversible", jinja_value_type(v));
    if (iter == NULL || !jinja_iter_next(run, iter, &item))
        return jinja_undefined(view_of(NULL, 0));
    return item;
}

struct jinja_value jinja_sequence_reverse(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_value *const *given,
                                          const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    if (v.kind == JINJA_STRING) {
        struct jinja_value bounds[3] = { jinja_none(), jinja_none(), jinja_int(-1) };
        return jinja_arith_slice(run, v, bounds);
    }
    struct jinja_iter *iter = jinja_iter_open_reversed(run, v);
    if (iter != NULL)
        return (struct jinja_value){ .kind = JINJA_ITERATOR, .iter = iter };
    struct jinja_value items = jinja_iter_list(run, v), out = jinja_value_list(run, JINJA_LIST);
    for (int64_t i = jinja_failed(run) ? 0 : items.list->n; i > 0; i--)
        jinja_value_push(run, out, items.list->at[i - 1]);
    return out;
}

static struct jinja_value fold(struct jinja_run *run, struct jinja_value v, bool folds)
{
    if (!folds || v.kind != JINJA_STRING || jinja_value_refuse_markup(run, v, "a sort"))
        return v;
    return jinja_case_change(run, v.string, JINJA_TO_LOWER);
}

/* Items with their sort keys. */
struct keyed {
    struct jinja_pair *at; /* key, item */
    int64_t n;
};

static struct jinja_value sorted(struct jinja_run *run, struct keyed keyed, bool descends)
{
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    if (!jinja_failed(run))
        jinja_sort(run, keyed.at, keyed.n, descends);
    for (int64_t i = 0; i < keyed.n && !jinja_failed(run); i++)
        jinja_value_push(run, out, keyed.at[i].value);
    return out;
}

struct jinja_value jinja_sequence_dictsort(struct jinja_run *run, struct jinja_value v,
                                           const struct jinja_value *const *given,
                                           const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct view by =
        given[1] == NULL ? view_text("key") : jinja_args_text(run, given[1], view_text(""));
    bool by_value = view_equal_text(by, "value");
    if (!by_value && !view_equal_text(by, "key"))
        jinja_fail(run, STATUS_BAD_INPUT, "You can only sort by either \"key\" or \"value\"");
    jinja_value_refuse_undefined(run, v);
    if (v.kind != JINJA_DICT)
        jinja_fail(run, STATUS_BAD_INPUT, "'%s' object has no attribute 'items'",
                   jinja_value_type(v));
    if (jinja_failed(run))
        return v;
    struct keyed keyed = { jinja_take(run, (size_t)(v.dict->n + 1) * sizeof(*keyed.at)), 0 };
    for (; keyed.n < v.dict->n && !jinja_failed(run); keyed.n++) {
        struct jinja_pair pair = v.dict->at[keyed.n];
        struct jinja_value key = by_value ? pair.value : pair.key;
        keyed.at[keyed.n] = (struct jinja_pair){ fold(run, key, !jinja_args_flag(given[0])),
                                                 jinja_value_pair(run, pair.key, pair.value) };
    }
    return sorted(run, keyed, jinja_args_int(run, given[2], 0) != 0);
}

/* Splits "a,b" into several paths with their parts. */
static struct jinja_value split_paths(struct jinja_run *run, const struct jinja_value *attribute)
{
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    if (attribute == NULL || attribute->kind != JINJA_STRING) {
        jinja_value_push(run, out, jinja_path_parts(run, attribute));
        return out;
    }
    struct jinja_value names = jinja_text_split(run, attribute->string, view_text(","), -1);
    for (int64_t i = 0; !jinja_failed(run) && i < names.list->n; i++)
        jinja_value_push(run, out, jinja_path_parts(run, &names.list->at[i]));
    return out;
}

struct jinja_value jinja_sequence_sort(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *const *given,
                                       const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct jinja_value paths = split_paths(run, given[2]), items = jinja_iter_list(run, v);
    if (jinja_failed(run))
        return v;
    bool folds = !jinja_args_flag(given[1]);
    struct keyed keyed = { jinja_take(run, (size_t)(items.list->n + 1) * sizeof(*keyed.at)), 0 };
    for (; keyed.n < items.list->n && !jinja_failed(run); keyed.n++) {
        struct jinja_value item = items.list->at[keyed.n], key = jinja_value_list(run, JINJA_LIST);
        for (int64_t i = 0; i < paths.list->n && !jinja_failed(run); i++)
            jinja_value_push(run, key,
                             jinja_path_follow(run, item, paths.list->at[i], NULL, folds));
        keyed.at[keyed.n] = (struct jinja_pair){ key, item };
    }
    return sorted(run, keyed, jinja_args_int(run, given[0], 0) != 0);
}

static void push_group(struct jinja_run *run, struct jinja_value out, struct jinja_value key,
                       struct jinja_value members)
{
    struct jinja_value pair = jinja_value_pair(run, key, members);
    pair.mark = JINJA_GROUP;
    jinja_value_push(run, out, pair);
}

struct jinja_value jinja_sequence_groupby(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_value *const *given,
                                          const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct jinja_value parts = jinja_path_parts(run, given[0]), items = jinja_iter_list(run, v);
    struct jinja_value out = jinja_value_list(run, JINJA_LIST), members = out;
    if (jinja_failed(run))
        return v;
    bool folds = !jinja_args_flag(given[2]);
    struct keyed keyed = { jinja_take(run, (size_t)(items.list->n + 1) * sizeof(*keyed.at)), 0 };
    for (; keyed.n < items.list->n && !jinja_failed(run); keyed.n++) {
        struct jinja_value item = items.list->at[keyed.n];
        keyed.at[keyed.n] =
            (struct jinja_pair){ jinja_path_follow(run, item, parts, given[1], folds), item };
    }
    if (!jinja_failed(run))
        jinja_sort(run, keyed.at, keyed.n, false);
    for (int64_t i = 0; i < keyed.n && !jinja_failed(run); i++) {
        bool begins = i == 0 || !jinja_compare_equal(run, keyed.at[i].key, keyed.at[i - 1].key);
        if (begins) {
            members = jinja_value_list(run, JINJA_LIST);
            push_group(run, out, jinja_path_follow(run, keyed.at[i].value, parts, given[1], false),
                       members);
        }
        if (!jinja_failed(run))
            jinja_value_push(run, members, keyed.at[i].value);
    }
    return out;
}

struct jinja_value jinja_sequence_extreme(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_value *const *given,
                                          const struct jinja_args *args, int is_max)
{
    (void)args;
    struct jinja_iter *iter = jinja_iter_open(run, v);
    bool folds = !jinja_args_flag(given[0]), is_first = true;
    struct jinja_value best = jinja_undefined(view_of(NULL, 0)), best_key = best, item;
    struct jinja_value parts = jinja_missing();
    while (iter != NULL && jinja_iter_next(run, iter, &item)) {
        if (is_first)
            parts = jinja_path_parts(run, given[1]);
        if (jinja_failed(run))
            break;
        struct jinja_value key = jinja_path_follow(run, item, parts, NULL, folds);
        bool wins = is_first;
        if (!is_first && !jinja_failed(run))
            wins = is_max ? jinja_compare_less(run, best_key, key)
                          : jinja_compare_less(run, key, best_key);
        if (wins) {
            best = item;
            best_key = key;
        }
        is_first = false;
    }
    return best;
}

struct jinja_value jinja_sequence_sum(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_value *const *given,
                                      const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct jinja_value items = of_attribute(run, v, given[0]), item;
    struct jinja_value total = given[1] != NULL ? *given[1] : jinja_int(0);
    struct jinja_iter *iter = jinja_iter_open(run, items);
    if (total.kind == JINJA_STRING)
        jinja_fail(run, STATUS_BAD_INPUT, "sum() can't sum strings");
    while (iter != NULL && jinja_iter_next(run, iter, &item))
        total = jinja_arith_binary(run, JINJA_ADD, total, item);
    return total;
}
