/* Iterators are lazy, as in Python: a generator's work happens when its item is needed, and only
 * once. */
#include "template/jinja_iter.h"
#include "template/jinja_letter.h"
#include "template/jinja_value.h"

/* Items of a LIST, TUPLE, DICT, VIEW or RANGE by number. */
static struct jinja_value item_of(struct jinja_run *run, struct jinja_value of, int64_t i)
{
    if (jinja_is_list(of))
        return of.list->at[i];
    if (of.kind == JINJA_RANGE)
        return jinja_int(of.range->start + i * of.range->step);
    struct jinja_pair pair = of.dict->at[i];
    if (of.kind == JINJA_VIEW && of.mark == JINJA_ITEMS)
        return jinja_value_pair(run, pair.key, pair.value);
    return of.kind == JINJA_VIEW && of.mark == JINJA_VALUES ? pair.value : pair.key;
}

static bool next_item(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    int64_t n = iter->of.kind == JINJA_UNDEFINED ? 0 : jinja_value_length(run, iter->of);
    if (iter->index >= n)
        return false;
    int64_t i = iter->index++;
    *out = item_of(run, iter->of, iter->is_reversed ? n - 1 - i : i);
    return true;
}

static bool next_letter(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    (void)run;
    struct view text = iter->of.string;
    size_t n, left = iter->is_reversed ? text.n - iter->at : iter->at;
    if (iter->at >= text.n)
        return false;
    if (iter->is_reversed)
        (void)jinja_letter_before(text, left, &n);
    else
        (void)jinja_letter_at(text, left, &n);
    *out = jinja_string(view_of(text.at + (iter->is_reversed ? left - n : left), n));
    if (iter->is_reversed) /* reversed() reads items, which are markup when the text is */
        out->mark = iter->of.mark;
    iter->at += n;
    return true;
}

static bool next_round(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    struct jinja_value item;
    if (!jinja_iter_loop_next(run, iter->of.loop, &item))
        return false;
    *out = jinja_value_pair(run, item, iter->of);
    return true;
}

bool jinja_iter_can_open(struct jinja_value v)
{
    return v.kind == JINJA_STRING || v.kind == JINJA_UNDEFINED || v.kind == JINJA_LOOP ||
           v.kind == JINJA_ITERATOR || jinja_is_list(v) || v.kind == JINJA_DICT ||
           v.kind == JINJA_VIEW || v.kind == JINJA_RANGE;
}

static struct jinja_iter *make(struct jinja_run *run, struct jinja_value of, const char *type)
{
    struct jinja_iter *iter = jinja_take(run, sizeof(*iter));
    if (iter == NULL)
        return NULL;
    *iter = (struct jinja_iter){ .of = of, .type = type };
    iter->next = of.kind == JINJA_STRING ? next_letter
                 : of.kind == JINJA_LOOP ? next_round
                                         : next_item;
    return iter;
}

struct jinja_iter *jinja_iter_open(struct jinja_run *run, struct jinja_value v)
{
    if (jinja_failed(run))
        return NULL;
    if (v.kind == JINJA_ITERATOR)
        return v.iter;
    if (!jinja_iter_can_open(v)) {
        jinja_fail(run, STATUS_BAD_INPUT, "'%s' object is not iterable", jinja_value_type(v));
        return NULL;
    }
    return make(run, v, "iterator");
}

struct jinja_iter *jinja_iter_open_reversed(struct jinja_run *run, struct jinja_value v)
{
    const char *type = v.kind == JINJA_LIST    ? "list_reverseiterator"
                       : v.kind == JINJA_RANGE ? "range_iterator"
                       : v.kind == JINJA_DICT  ? "dict_reversekeyiterator"
                                               : "reversed";
    bool is_reversible = v.kind == JINJA_STRING || v.kind == JINJA_UNDEFINED || jinja_is_list(v) ||
                         v.kind == JINJA_DICT || v.kind == JINJA_VIEW || v.kind == JINJA_RANGE;
    struct jinja_iter *iter = is_reversible && !jinja_failed(run) ? make(run, v, type) : NULL;
    if (iter != NULL)
        iter->is_reversed = true;
    return iter;
}

bool jinja_iter_next(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    if (iter->is_done || !jinja_enter(run))
        return false;
    bool has_item = iter->next(run, iter, out);
    run->depth--;
    iter->is_done = !has_item || jinja_failed(run);
    return !iter->is_done;
}

struct jinja_value jinja_iter_generator(struct jinja_run *run, struct jinja_value of, void *state,
                                        bool (*next)(struct jinja_run *run, struct jinja_iter *iter,
                                                     struct jinja_value *out))
{
    struct jinja_iter *iter = jinja_take(run, sizeof(*iter));
    if (iter == NULL)
        return jinja_none();
    *iter = (struct jinja_iter){ .next = next, .type = "generator", .of = of, .state = state };
    return (struct jinja_value){ .kind = JINJA_ITERATOR, .iter = iter };
}

bool jinja_iter_source(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    if (iter->source == NULL)
        iter->source = jinja_iter_open(run, iter->of);
    return iter->source != NULL && jinja_iter_next(run, iter->source, out);
}

struct jinja_value jinja_iter_list(struct jinja_run *run, struct jinja_value v)
{
    struct jinja_value out = jinja_value_list(run, JINJA_LIST), item;
    struct jinja_iter *iter = jinja_iter_open(run, v);
    while (iter != NULL && jinja_iter_next(run, iter, &item))
        jinja_value_push(run, out, item);
    return out;
}

struct jinja_loop *jinja_iter_loop(struct jinja_run *run, struct jinja_value items)
{
    struct jinja_iter *iter = jinja_iter_open(run, items);
    struct jinja_loop *loop = iter == NULL ? NULL : jinja_take(run, sizeof(*loop));
    if (loop == NULL)
        return NULL;
    *loop = (struct jinja_loop){ .iterable = items, .iter = iter, .index0 = -1, .length = -1 };
    return loop;
}

bool jinja_iter_loop_next(struct jinja_run *run, struct jinja_loop *loop, struct jinja_value *out)
{
    if (loop->after.kind != JINJA_MISSING) {
        *out = loop->after;
        loop->after = jinja_missing();
    } else if (!jinja_iter_next(run, loop->iter, out)) {
        return false;
    }
    loop->index0++;
    loop->before = loop->current;
    loop->current = *out;
    return true;
}

bool jinja_iter_loop_peek(struct jinja_run *run, struct jinja_loop *loop)
{
    if (loop->after.kind == JINJA_MISSING && !jinja_iter_next(run, loop->iter, &loop->after))
        loop->after = jinja_missing();
    return loop->after.kind != JINJA_MISSING;
}

int64_t jinja_iter_loop_length(struct jinja_run *run, struct jinja_loop *loop)
{
    if (loop->length >= 0)
        return loop->length;
    if (jinja_value_has_length(loop->iterable)) {
        loop->length = jinja_value_length(run, loop->iterable);
        return loop->length;
    }
    struct jinja_value left = jinja_value_list(run, JINJA_LIST), item;
    while (!jinja_failed(run) && jinja_iter_next(run, loop->iter, &item))
        jinja_value_push(run, left, item);
    struct jinja_iter *iter = jinja_iter_open(run, left);
    if (iter == NULL)
        return 0;
    loop->iter = iter;
    loop->length = left.list->n + loop->index0 + 1 + (loop->after.kind != JINJA_MISSING);
    return loop->length;
}
