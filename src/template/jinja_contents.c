/* The contents of values: keys of dictionaries, and lengths of containers. Look-ups in dictionaries
 * are linear and are charged as steps. */
#include "template/jinja_compare.h"
#include "template/jinja_iter.h"
#include "template/jinja_text.h"
#include "template/jinja_value.h"

static struct jinja_pair *find_pair(struct jinja_run *run, const struct jinja_dict *dict,
                                    struct jinja_value key)
{
    for (int64_t i = 0; i < dict->n && !jinja_failed(run); i++) {
        if (jinja_compare_same(run, dict->at[i].key, key))
            return &dict->at[i];
    }
    return NULL;
}

bool jinja_value_is_hashable(struct jinja_run *run, struct jinja_value key)
{
    if (key.kind == JINJA_TUPLE) {
        bool is_hashable = true;
        if (!jinja_enter(run))
            return true;
        for (int64_t i = 0; is_hashable && i < key.list->n; i++)
            is_hashable = jinja_value_is_hashable(run, key.list->at[i]);
        run->depth--;
        return is_hashable;
    }
    bool is_view = key.kind == JINJA_VIEW && key.mark != JINJA_VALUES;
    return key.kind != JINJA_LIST && key.kind != JINJA_DICT && !is_view;
}

bool jinja_value_check_key(struct jinja_run *run, struct jinja_value key)
{
    if (!jinja_value_is_hashable(run, key))
        jinja_fail(run, STATUS_BAD_INPUT, "unhashable type: '%s'", jinja_value_type(key));
    else if (key.kind > JINJA_DICT && key.kind != JINJA_RANGE)
        jinja_fail(run, STATUS_UNSUPPORTED, "a %s as the key of a dict", jinja_value_type(key));
    return !jinja_failed(run);
}

void jinja_value_set(struct jinja_run *run, struct jinja_dict *dict, struct jinja_value key,
                     struct jinja_value value)
{
    if (!jinja_value_check_key(run, key))
        return;
    struct jinja_pair *pair = find_pair(run, dict, key);
    if (pair != NULL) {
        pair->value = value;
        return;
    }
    void *table = dict->at;
    if (!jinja_grow(run, &table, dict->n, &dict->capacity, sizeof(*dict->at)))
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

const struct jinja_value *jinja_value_member(struct jinja_run *run, const struct jinja_dict *dict,
                                             struct view key)
{
    (void)jinja_charge(run, 1 + dict->n / 16);
    for (int64_t i = 0; i < dict->n && !jinja_failed(run); i++) {
        if (dict->at[i].key.kind == JINJA_STRING && view_equal(dict->at[i].key.string, key))
            return &dict->at[i].value;
    }
    return NULL;
}

bool jinja_value_has_length(struct jinja_value v)
{
    return v.kind == JINJA_STRING || v.kind == JINJA_UNDEFINED || v.kind == JINJA_LOOP ||
           jinja_is_list(v) || v.kind == JINJA_DICT || v.kind == JINJA_VIEW ||
           v.kind == JINJA_RANGE;
}

int64_t jinja_value_length(struct jinja_run *run, struct jinja_value v)
{
    switch (v.kind) {
    case JINJA_UNDEFINED:
        return 0;
    case JINJA_STRING:
        return jinja_text_length(run, v.string);
    case JINJA_LIST:
    case JINJA_TUPLE:
        return v.list->n;
    case JINJA_DICT:
    case JINJA_VIEW:
        return v.dict->n;
    case JINJA_RANGE:
        return v.range->n;
    case JINJA_LOOP:
        return jinja_iter_loop_length(run, v.loop);
    default:
        jinja_fail(run, STATUS_BAD_INPUT, "object of type '%s' has no len()", jinja_value_type(v));
        return 0;
    }
}
