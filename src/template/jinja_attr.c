/* a.b prefers attributes to items, a["b"] items to attributes. As in jinja2, all that the sandbox
 * forbids (private names, methods that change a list or dict) is undefined. */
#include "template/jinja_attr.h"
#include "template/jinja_iter.h"
#include "template/jinja_letter.h"
#include "template/jinja_node.h"
#include "template/jinja_text.h"
#include <string.h>

enum found { ABSENT, FOUND, UNSAFE };

static struct jinja_value name_list(struct jinja_run *run, const struct jinja_node *list)
{
    struct jinja_value out = jinja_value_list(run, JINJA_TUPLE);
    for (; list != NULL; list = list->next)
        jinja_value_push(run, out, jinja_string(list->text));
    return out;
}

static bool macro_attr(struct jinja_run *run, const struct jinja_macro *macro, struct view name,
                       struct jinja_value *out)
{
    const struct jinja_block *block = macro->node->block;
    bool is_named = macro->node->text.at != NULL;
    if (view_equal_text(name, "name"))
        *out = is_named ? jinja_string(macro->node->text) : jinja_none();
    else if (view_equal_text(name, "arguments"))
        *out = name_list(run, macro->node->a);
    else if (view_equal_text(name, "catch_kwargs"))
        *out = jinja_bool(block->kwargs >= 0);
    else if (view_equal_text(name, "catch_varargs"))
        *out = jinja_bool(block->varargs >= 0);
    else if (view_equal_text(name, "caller") || view_equal_text(name, "explicit_caller"))
        jinja_fail(run, STATUS_UNSUPPORTED, "the attribute %.*s of a macro", (int)name.n, name.at);
    else
        return false;
    return true;
}

static bool loop_attr(struct jinja_run *run, struct jinja_loop *loop, struct view name,
                      struct jinja_value *out)
{
    struct view none = view_of(NULL, 0);
    if (view_equal_text(name, "index") || view_equal_text(name, "index0"))
        *out = jinja_int(loop->index0 + (name.n == strlen("index")));
    else if (view_equal_text(name, "first"))
        *out = jinja_bool(loop->index0 == 0);
    else if (view_equal_text(name, "last"))
        *out = jinja_bool(!jinja_iter_loop_peek(run, loop));
    else if (view_equal_text(name, "length"))
        *out = jinja_int(jinja_iter_loop_length(run, loop));
    else if (view_equal_text(name, "revindex") || view_equal_text(name, "revindex0"))
        *out = jinja_int(jinja_iter_loop_length(run, loop) - loop->index0 -
                         (name.n == strlen("revindex0")));
    else if (view_equal_text(name, "depth") || view_equal_text(name, "depth0"))
        *out = jinja_int(loop->depth0 + (name.n == strlen("depth")));
    else if (view_equal_text(name, "previtem"))
        *out = loop->index0 == 0 ? jinja_undefined(none) : loop->before;
    else if (view_equal_text(name, "nextitem"))
        *out = jinja_iter_loop_peek(run, loop) ? loop->after : jinja_undefined(none);
    else
        return false;
    return true;
}

static bool cycler_attr(struct jinja_value of, struct view name, struct jinja_value *out)
{
    const struct jinja_cycler *cycler = of.cycler;
    bool is_cycler = of.kind == JINJA_CYCLER;
    if (is_cycler && view_equal_text(name, "current"))
        *out = cycler->items->at[cycler->position];
    else if (is_cycler && view_equal_text(name, "pos"))
        *out = jinja_int(cycler->position);
    else if (is_cycler && view_equal_text(name, "items"))
        *out = (struct jinja_value){ .kind = JINJA_TUPLE, .list = cycler->items };
    else if (!is_cycler && view_equal_text(name, "sep"))
        *out = cycler->items->at[0];
    else if (!is_cycler && view_equal_text(name, "used"))
        *out = jinja_bool(cycler->position != 0);
    else
        return false;
    return true;
}

static bool number_attr(struct jinja_value of, struct view name, struct jinja_value *out)
{
    struct jinja_value self = jinja_is_whole(of) ? jinja_int(jinja_value_int(of)) : of;
    if (view_equal_text(name, "real"))
        *out = self;
    else if (view_equal_text(name, "imag"))
        *out = of.kind == JINJA_FLOAT ? jinja_float(0) : jinja_int(0);
    else if (jinja_is_whole(of) && view_equal_text(name, "numerator"))
        *out = self;
    else if (jinja_is_whole(of) && view_equal_text(name, "denominator"))
        *out = jinja_int(1);
    else
        return false;
    return true;
}

static bool range_attr(const struct jinja_range *range, struct view name, struct jinja_value *out)
{
    if (view_equal_text(name, "start"))
        *out = jinja_int(range->start);
    else if (view_equal_text(name, "stop"))
        *out = jinja_int(range->stop);
    else if (view_equal_text(name, "step"))
        *out = jinja_int(range->step);
    else
        return false;
    return true;
}

/* Finds attributes that are no methods. */
static bool plain_attr(struct jinja_run *run, struct jinja_value of, struct view name,
                       struct jinja_value *out)
{
    switch (of.kind) {
    case JINJA_LOOP:
        return loop_attr(run, of.loop, name, out);
    case JINJA_MACRO:
        return macro_attr(run, of.macro, name, out);
    case JINJA_CYCLER:
    case JINJA_JOINER:
        return cycler_attr(of, name, out);
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_FLOAT:
        return number_attr(of, name, out);
    case JINJA_RANGE:
        return range_attr(of.range, name, out);
    case JINJA_TUPLE:
        if (of.mark != JINJA_GROUP ||
            (!view_equal_text(name, "grouper") && !view_equal_text(name, "list")))
            return false;
        *out = of.list->at[view_equal_text(name, "list")];
        return true;
    default:
        return false;
    }
}

static void refuse_private(struct jinja_run *run, struct jinja_value of, struct view name)
{
    bool is_private = name.n > 0 && name.at[0] == '_';
    if (of.kind == JINJA_UNDEFINED &&
        (view_starts(name, "_undefined") || view_starts(name, "_fail")))
        jinja_fail(run, STATUS_UNSUPPORTED, "the attribute %.*s of what is undefined", (int)name.n,
                   name.at);
    jinja_value_refuse_undefined(run, of);
    if (!is_private)
        (void)jinja_value_refuse_markup(run, of, "an attribute");
    if (of.kind == JINJA_FUNCTION && !is_private)
        jinja_fail(run, STATUS_UNSUPPORTED, "the attribute '%.*s' of a function",
                   (int)min_i64((int64_t)name.n, 60), name.n > 0 ? name.at : "");
}

/* getattr of Python and the sandbox's view of it. */
static enum found find(struct jinja_run *run, struct jinja_value of, struct view name,
                       struct jinja_value *out)
{
    refuse_private(run, of, name);
    *out = jinja_undefined(name);
    if (jinja_failed(run))
        return ABSENT;
    bool is_internal = name.n > 1 && name.at[0] == '_' && name.at[1] == '_';
    if (is_internal && of.kind == JINJA_DICT && jinja_value_member(run, of.dict, name) != NULL)
        jinja_fail(run, STATUS_UNSUPPORTED, "the attribute '%.*s' of a dict that has such a key",
                   (int)min_i64((int64_t)name.n, 60), name.at);
    if (is_internal && of.kind != JINJA_NAMESPACE)
        return UNSAFE;
    if (of.kind == JINJA_NAMESPACE) {
        const struct jinja_value *member = jinja_value_member(run, of.dict, name);
        if (member == NULL)
            return ABSENT;
        *out = *member;
        return FOUND;
    }
    if (plain_attr(run, of, name, out))
        return FOUND;
    const struct jinja_method_row *row = jinja_method_find(of, name);
    if (row == NULL)
        return ABSENT;
    if (jinja_method_is_unsafe(row))
        return UNSAFE;
    jinja_method_check(run, row, of);
    *out = jinja_method_bind(run, row, of);
    return FOUND;
}

/* obj[key] of Python; false: TypeError or LookupError. */
static bool find_item(struct jinja_run *run, struct jinja_value of, struct jinja_value key,
                      struct jinja_value *out)
{
    jinja_value_refuse_undefined(run, of);
    if (of.kind == JINJA_FUNCTION)
        jinja_fail(run, STATUS_UNSUPPORTED, "an item of a function");
    if (jinja_failed(run))
        return false;
    if (of.kind == JINJA_DICT) {
        if (!jinja_value_is_hashable(run, key))
            return false;
        const struct jinja_value *found = jinja_value_find(run, of.dict, key);
        if (found != NULL)
            *out = *found;
        return found != NULL;
    }
    bool has_items = jinja_is_list(of) || of.kind == JINJA_STRING || of.kind == JINJA_RANGE;
    if (!has_items || !jinja_is_whole(key))
        return false;
    int64_t n = jinja_value_length(run, of), i = jinja_value_int(key);
    i = i < 0 ? i + n : i;
    if (i < 0 || i >= n)
        return false;
    if (jinja_is_list(of))
        *out = of.list->at[i];
    else if (of.kind == JINJA_RANGE)
        *out = jinja_int(of.range->start + i * of.range->step);
    else {
        *out = of; /* with its mark */
        out->string = jinja_text_part(run, of.string, i, i + 1);
    }
    return true;
}

struct jinja_value jinja_attr_get(struct jinja_run *run, struct jinja_value of, struct view name)
{
    struct jinja_value value;
    enum found found = find(run, of, name, &value);
    if (found == ABSENT && !jinja_failed(run) && !find_item(run, of, jinja_string(name), &value))
        return jinja_undefined(name);
    bool is_private = name.n > 0 && name.at[0] == '_' && found == FOUND;
    return jinja_failed(run) || found == UNSAFE || is_private ? jinja_undefined(name) : value;
}

struct jinja_value jinja_attr_item(struct jinja_run *run, struct jinja_value of,
                                   struct jinja_value key)
{
    struct jinja_value value;
    struct view name = key.kind == JINJA_STRING ? key.string : view_of(NULL, 0);
    if (find_item(run, of, key, &value))
        return value;
    if (jinja_failed(run) || key.kind != JINJA_STRING)
        return jinja_undefined(name);
    enum found found = find(run, of, name, &value);
    bool is_private = name.n > 0 && name.at[0] == '_';
    return found == FOUND && !is_private ? value : jinja_undefined(name);
}

struct jinja_value jinja_attr_own(struct jinja_run *run, struct jinja_value of, struct view name)
{
    struct jinja_value value;
    enum found found = find(run, of, name, &value);
    bool is_private = name.n > 0 && name.at[0] == '_';
    return found == FOUND && !is_private ? value : jinja_undefined(name);
}
