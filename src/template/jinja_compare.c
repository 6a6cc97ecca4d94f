/* Comparisons as in Python: numbers exactly, texts by code points, lists item by item. */
#include "template/jinja_compare.h"
#include "template/jinja_iter.h"
#include "template/jinja_number.h"
#include "template/jinja_text.h"
#include "template/jinja_value.h"
#include <math.h>
#include <string.h>

/* -1, 0, 1; 2 when one of them is NaN. */
static int compare_numbers(struct jinja_value a, struct jinja_value b)
{
    if (a.kind != JINJA_FLOAT && b.kind != JINJA_FLOAT) {
        int64_t x = jinja_value_int(a), y = jinja_value_int(b);
        return (x > y) - (x < y);
    }
    double x = jinja_value_real(a), y = jinja_value_real(b);
    if (isnan(x) || isnan(y))
        return 2;
    if (a.kind != JINJA_FLOAT)
        return jinja_number_compare(jinja_value_int(a), y);
    if (b.kind != JINJA_FLOAT)
        return -jinja_number_compare(jinja_value_int(b), x);
    return (x > y) - (x < y);
}

static int compare_texts(struct jinja_run *run, struct view a, struct view b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n > 0 && jinja_charge(run, (int64_t)(n / 64)) ? memcmp(a.at, b.at, n) : 0;
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

static bool lists_equal(struct jinja_run *run, const struct jinja_list *a,
                        const struct jinja_list *b)
{
    bool is_equal = a->n == b->n;
    for (int64_t i = 0; i < a->n && is_equal; i++)
        is_equal = jinja_compare_same(run, a->at[i], b->at[i]);
    return is_equal;
}

static bool dicts_equal(struct jinja_run *run, const struct jinja_dict *a,
                        const struct jinja_dict *b)
{
    bool is_equal = a->n == b->n;
    for (int64_t i = 0; i < a->n && is_equal; i++) {
        const struct jinja_value *other = jinja_value_find(run, b, a->at[i].key);
        is_equal = other != NULL && jinja_compare_same(run, a->at[i].value, *other);
    }
    return is_equal;
}

static bool ranges_equal(const struct jinja_range *a, const struct jinja_range *b)
{
    return a->n == b->n && (a->n == 0 || a->start == b->start) && (a->n < 2 || a->step == b->step);
}

static bool objects_equal(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    switch (a.kind) {
    case JINJA_LIST:
    case JINJA_TUPLE:
        return lists_equal(run, a.list, b.list);
    case JINJA_DICT:
        return dicts_equal(run, a.dict, b.dict);
    case JINJA_RANGE:
        return ranges_equal(a.range, b.range);
    case JINJA_VIEW:
    case JINJA_METHOD:
        jinja_fail(run, STATUS_UNSUPPORTED, "a comparison of two objects of type %s",
                   jinja_value_type(a));
        return false;
    default:
        return a.list == b.list; /* the same object */
    }
}

bool jinja_compare_equal(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    if (!jinja_charge(run, 1))
        return false;
    if (jinja_is_number(a) && jinja_is_number(b))
        return compare_numbers(a, b) == 0;
    if (a.kind != b.kind)
        return false;
    if (a.kind == JINJA_STRING)
        return jinja_charge(run, (int64_t)(a.string.n / 64)) && view_equal(a.string, b.string);
    if (a.kind <= JINJA_NONE)
        return true;
    if (!jinja_enter(run))
        return false;
    bool is_equal = objects_equal(run, a, b);
    run->depth--;
    return is_equal && !jinja_failed(run);
}

bool jinja_compare_same(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    bool both_nan =
        a.kind == JINJA_FLOAT && b.kind == JINJA_FLOAT && isnan(a.real) && isnan(b.real);
    if (both_nan)
        jinja_fail(run, STATUS_UNSUPPORTED, "a comparison of NaN with NaN inside of values");
    return !both_nan && jinja_compare_equal(run, a, b);
}

static void refuse_order(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    jinja_value_refuse_undefined(run, a.kind == JINJA_UNDEFINED ? a : b);
    if (a.kind == JINJA_VIEW && b.kind == JINJA_VIEW)
        jinja_fail(run, STATUS_UNSUPPORTED, "an order of two objects of type %s",
                   jinja_value_type(a));
    jinja_fail(run, STATUS_BAD_INPUT, "'%s' and '%s' have no order", jinja_value_type(a),
               jinja_value_type(b));
}

static bool holds(enum jinja_op op, int order)
{
    return op == JINJA_LT   ? order < 0
           : op == JINJA_LE ? order <= 0
           : op == JINJA_GT ? order > 0
                            : order >= 0;
}

static bool compare_order(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                          struct jinja_value b)
{
    if (!jinja_charge(run, 1))
        return false;
    if (jinja_is_number(a) && jinja_is_number(b)) {
        int order = compare_numbers(a, b);
        return order != 2 && holds(op, order);
    }
    if (a.kind == JINJA_STRING && b.kind == JINJA_STRING)
        return holds(op, compare_texts(run, a.string, b.string));
    if (!jinja_is_list(a) || a.kind != b.kind) {
        refuse_order(run, a, b);
        return false;
    }
    const struct jinja_list *x = a.list, *y = b.list;
    int64_t i = 0;
    if (!jinja_enter(run))
        return false;
    while (i < x->n && i < y->n && jinja_compare_same(run, x->at[i], y->at[i]))
        i++;
    bool is_decided = i < x->n && i < y->n;
    bool result = false;
    if (!jinja_failed(run))
        result = is_decided ? compare_order(run, op, x->at[i], y->at[i])
                            : holds(op, (x->n > y->n) - (x->n < y->n));
    run->depth--;
    return result;
}

static bool has_nan(struct jinja_value v)
{
    for (int64_t i = 0; jinja_is_list(v) && i < v.list->n; i++) {
        if (v.list->at[i].kind == JINJA_FLOAT && isnan(v.list->at[i].real))
            return true;
    }
    return v.kind == JINJA_FLOAT && isnan(v.real);
}

bool jinja_compare_less(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    if (has_nan(a) || has_nan(b))
        jinja_fail(run, STATUS_UNSUPPORTED, "NaN among values that are sorted or compared");
    return compare_order(run, JINJA_LT, a, b);
}

static bool range_has(const struct jinja_range *range, int64_t i)
{
    int64_t last = range->start + range->step * (range->n - 1);
    int64_t low = range->step > 0 ? range->start : last,
            high = range->step > 0 ? last : range->start;
    return range->n > 0 && i >= low && i <= high && (i - range->start) % range->step == 0;
}

static bool in_view(struct jinja_run *run, struct jinja_value item, struct jinja_value view)
{
    if (view.mark == JINJA_KEYS)
        return jinja_value_check_key(run, item) && jinja_value_find(run, view.dict, item) != NULL;
    if (view.mark == JINJA_ITEMS) {
        if (item.kind != JINJA_TUPLE || item.list->n != 2)
            return false;
        if (!jinja_value_check_key(run, item.list->at[0]))
            return false;
        const struct jinja_value *found = jinja_value_find(run, view.dict, item.list->at[0]);
        return found != NULL && jinja_compare_same(run, *found, item.list->at[1]);
    }
    for (int64_t i = 0; i < view.dict->n && !jinja_failed(run); i++) {
        if (jinja_compare_same(run, view.dict->at[i].value, item))
            return true;
    }
    return false;
}

bool jinja_compare_in(struct jinja_run *run, struct jinja_value item, struct jinja_value container)
{
    if (container.kind == JINJA_STRING && item.kind != JINJA_STRING) {
        jinja_fail(run, STATUS_BAD_INPUT, "'in <string>' requires string as left operand, not %s",
                   jinja_value_type(item));
        return false;
    }
    if (container.kind == JINJA_STRING)
        return jinja_text_find(run, container.string, item.string) >= 0;
    if (container.kind == JINJA_DICT)
        return jinja_value_check_key(run, item) &&
               jinja_value_find(run, container.dict, item) != NULL;
    if (container.kind == JINJA_VIEW)
        return in_view(run, item, container);
    if (container.kind == JINJA_RANGE && jinja_is_whole(item))
        return range_has(container.range, jinja_value_int(item));
    struct jinja_iter *iter = jinja_iter_open(run, container);
    struct jinja_value each;
    while (iter != NULL && jinja_iter_next(run, iter, &each)) {
        if (jinja_compare_same(run, each, item))
            return true;
    }
    return false;
}

bool jinja_compare(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                   struct jinja_value b)
{
    switch (op) {
    case JINJA_EQ:
        return jinja_compare_equal(run, a, b);
    case JINJA_NE:
        return !jinja_compare_equal(run, a, b);
    case JINJA_IN:
        return jinja_compare_in(run, a, b);
    case JINJA_NOT_IN:
        return !jinja_compare_in(run, a, b);
    default:
        return compare_order(run, op, a, b);
    }
}
