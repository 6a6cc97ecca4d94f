/* Generators, as lazy as Python's: even their arguments are evaluated only when the first item is
 * needed. */
#include "template/jinja_filter.h"
#include "template/jinja_arith.h"
#include "template/jinja_compare.h"
#include "template/jinja_is.h"
#include "template/jinja_iter.h"
#include "template/jinja_path.h"

struct generator {
    struct jinja_args args;
    int variant;
    bool has_begun;
    struct jinja_value path;            /* parts of the attribute, or MISSING */
    const struct jinja_value *fallback; /* map */
    struct jinja_value name;            /* of the filter or test, or MISSING */
    struct jinja_args rest;             /* its arguments */
    struct jinja_value seen;            /* unique: keys so far; batch, slice: a list */
    int64_t count;                      /* batch, slice */
    struct jinja_value fill;
};

static struct jinja_value open_generator(
    struct jinja_run *run, struct jinja_value of, struct generator state,
    bool (*next)(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out))
{
    struct generator *kept = jinja_take(run, sizeof(*kept));
    if (kept == NULL)
        return jinja_none();
    *kept = state;
    return jinja_iter_generator(run, of, kept, next);
}

/* map(attribute=..., default=...) or map(filter, ...). */
static void begin_map(struct jinja_run *run, struct generator *g)
{
    const struct jinja_value *attribute = jinja_args_named(&g->args, "attribute");
    g->has_begun = true;
    if (g->args.n == 0 && attribute != NULL) {
        g->fallback = jinja_args_named(&g->args, "default");
        if (g->args.n_named > 1 + (g->fallback != NULL))
            jinja_fail(run, STATUS_BAD_INPUT, "map takes attribute and default alone");
        g->path = jinja_path_parts(run, attribute);
    } else if (g->args.n == 0) {
        jinja_fail(run, STATUS_BAD_INPUT, "map requires a filter argument");
    } else {
        g->name = g->args.at[0];
        g->rest = jinja_args_rest(&g->args, 1);
    }
}

static bool next_map(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    struct generator *g = iter->state;
    struct jinja_value item;
    if (!g->has_begun && !jinja_value_truth(iter->of))
        return false;
    if (!g->has_begun)
        begin_map(run, g);
    if (jinja_failed(run) || !jinja_iter_source(run, iter, &item))
        return false;
    *out = g->name.kind != JINJA_MISSING
               ? jinja_filter_call(run, g->name, item, &g->rest)
               : jinja_path_follow(run, item, g->path, g->fallback, false);
    return !jinja_failed(run);
}

struct jinja_value jinja_generator_map(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *const *given,
                                       const struct jinja_args *args, int variant)
{
    (void)given, (void)variant;
    return open_generator(run, v, (struct generator){ .args = *args }, next_map);
}

static void begin_select(struct jinja_run *run, struct generator *g)
{
    int64_t n_skipped = (g->variant & JINJA_OF_ATTRIBUTE) != 0;
    g->has_begun = true;
    if (g->args.n < n_skipped)
        jinja_fail(run, STATUS_BAD_INPUT, "Missing parameter for attribute name");
    else
        g->path = jinja_path_parts(run, n_skipped > 0 ? &g->args.at[0] : NULL);
    if (g->args.n > n_skipped)
        g->name = g->args.at[n_skipped];
    g->rest = jinja_args_rest(&g->args, n_skipped + 1);
}

static bool next_select(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    struct generator *g = iter->state;
    bool rejects = (g->variant & JINJA_REJECTS) != 0;
    if (!g->has_begun && !jinja_value_truth(iter->of))
        return false;
    if (!g->has_begun)
        begin_select(run, g);
    while (!jinja_failed(run) && jinja_iter_source(run, iter, out)) {
        struct jinja_value seen = jinja_path_follow(run, *out, g->path, NULL, false);
        bool passes = g->name.kind == JINJA_MISSING ? jinja_value_truth(seen)
                      : jinja_failed(run)           ? false
                                                    : jinja_is_call(run, g->name, seen, &g->rest);
        if (!jinja_failed(run) && passes != rejects)
            return true;
    }
    return false;
}

struct jinja_value jinja_generator_select(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_value *const *given,
                                          const struct jinja_args *args, int variant)
{
    (void)given;
    return open_generator(run, v, (struct generator){ .args = *args, .variant = variant },
                          next_select);
}

static bool next_unique(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    struct generator *g = iter->state;
    if (!g->has_begun) {
        g->path = jinja_path_parts(run, g->args.n > 0 ? &g->args.at[0] : NULL);
        g->seen = jinja_value_dict(run, JINJA_DICT);
        g->has_begun = true;
    }
    while (!jinja_failed(run) && jinja_iter_source(run, iter, out)) {
        struct jinja_value key = jinja_path_follow(run, *out, g->path, NULL, g->variant != 0);
        if (!jinja_value_check_key(run, key))
            return false;
        bool is_new = jinja_value_find(run, g->seen.dict, key) == NULL;
        if (is_new)
            jinja_value_set(run, g->seen.dict, key, jinja_none());
        if (is_new)
            return !jinja_failed(run);
    }
    return false;
}

struct jinja_value jinja_generator_unique(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_value *const *given,
                                          const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    const struct jinja_args attribute = { .at = given[1], .n = given[1] != NULL };
    return open_generator(
        run, v, (struct generator){ .args = attribute, .variant = !jinja_args_flag(given[0]) },
        next_unique);
}

/* The first item of the next batch was read ahead into g->seen. */
static bool next_batch(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    struct generator *g = iter->state;
    struct jinja_value item;
    if (!g->has_begun)
        g->seen = jinja_value_list(run, JINJA_LIST);
    g->has_begun = true;
    while (!jinja_failed(run) && jinja_iter_source(run, iter, &item)) {
        struct jinja_value whole = g->seen;
        bool is_whole = whole.list->n == g->count;
        if (is_whole)
            g->seen = jinja_value_list(run, JINJA_LIST);
        if (!jinja_failed(run))
            jinja_value_push(run, g->seen, item);
        *out = whole;
        if (is_whole)
            return !jinja_failed(run);
    }
    if (jinja_failed(run) || g->seen.list->n == 0)
        return false;
    for (int64_t n = g->count - g->seen.list->n;
         n > 0 && g->fill.kind != JINJA_NONE && jinja_charge(run, 1); n--)
        jinja_value_push(run, g->seen, g->fill);
    *out = g->seen;
    g->seen = jinja_value_list(run, JINJA_LIST);
    return !jinja_failed(run);
}

/* An iterator that has ended stays ended, so the last batch comes once. */
struct jinja_value jinja_generator_batch(struct jinja_run *run, struct jinja_value v,
                                         const struct jinja_value *const *given,
                                         const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    if (!jinja_is_whole(*given[0]))
        jinja_fail(run, STATUS_UNSUPPORTED, "a batch of a %s", jinja_value_type(*given[0]));
    struct generator g = { .count = jinja_value_int(*given[0]),
                           .fill = given[1] != NULL ? *given[1] : jinja_none() };
    return jinja_failed(run) ? jinja_none() : open_generator(run, v, g, next_batch);
}

static bool next_slice(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    struct generator *g = iter->state;
    if (!g->has_begun)
        g->seen = jinja_iter_list(run, iter->of);
    g->has_begun = true;
    if (!jinja_failed(run) && g->count == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "integer division or modulo by zero");
    if (jinja_failed(run) || iter->index >= g->count)
        return false;
    int64_t i = iter->index++, n = g->seen.list->n;
    int64_t n_each = n / g->count, n_longer = n % g->count;
    int64_t start = i * n_each + min_i64(i, n_longer), end = start + n_each + (i < n_longer);
    *out = jinja_value_list(run, JINJA_LIST);
    for (int64_t k = start; k < end && !jinja_failed(run); k++)
        jinja_value_push(run, *out, g->seen.list->at[k]);
    if (g->fill.kind != JINJA_NONE && i >= n_longer && !jinja_failed(run))
        jinja_value_push(run, *out, g->fill);
    return !jinja_failed(run);
}

struct jinja_value jinja_generator_slice(struct jinja_run *run, struct jinja_value v,
                                         const struct jinja_value *const *given,
                                         const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    if (!jinja_is_whole(*given[0]))
        jinja_fail(run, STATUS_UNSUPPORTED, "slices of a %s", jinja_value_type(*given[0]));
    struct generator g = { .count = jinja_value_int(*given[0]),
                           .fill = given[1] != NULL ? *given[1] : jinja_none() };
    return jinja_failed(run) ? jinja_none() : open_generator(run, v, g, next_slice);
}

static bool next_pair(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out)
{
    if (iter->of.kind == JINJA_UNDEFINED)
        return false;
    if (iter->of.kind != JINJA_DICT) {
        jinja_fail(run, STATUS_BAD_INPUT, "Can only get item pairs from a mapping.");
        return false;
    }
    if (iter->index >= iter->of.dict->n)
        return false;
    struct jinja_pair pair = iter->of.dict->at[iter->index++];
    *out = jinja_value_pair(run, pair.key, pair.value);
    return !jinja_failed(run);
}

struct jinja_value jinja_generator_items(struct jinja_run *run, struct jinja_value v,
                                         const struct jinja_value *const *given,
                                         const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    return jinja_iter_generator(run, v, NULL, next_pair);
}
