/* Frames hold the slots of variables. Scopes set and reset some of them, like the Python functions
 * into which jinja2 compiles a template. */
#include "template/jinja_frame.h"
#include "template/jinja_function.h"
#include "template/jinja_iter.h"

struct jinja_frame *jinja_frame_take(struct jinja_run *run, struct jinja_frame *parent,
                                     int32_t n_slots)
{
    struct jinja_frame *frame =
        jinja_take(run, sizeof(*frame) + sizeof(frame->slots[0]) * (size_t)n_slots);
    if (frame != NULL)
        frame->parent = parent;
    return frame;
}

struct jinja_frame *jinja_frame_of(struct jinja_run *run, struct jinja_slot slot)
{
    struct jinja_frame *frame = run->frame;
    for (int32_t i = 0; i < slot.hops; i++)
        frame = frame->parent;
    return frame;
}

/* Returns the caller's variable of this name, or a global function; else MISSING. */
static struct jinja_value resolve(struct jinja_run *run, struct view name)
{
    const struct jinja_value *given =
        run->context == NULL ? NULL : jinja_value_member(run, run->context, name);
    if (given != NULL)
        return *given;
    const struct jinja_function *function = jinja_function_find(name);
    return function == NULL ? jinja_missing()
                            : (struct jinja_value){ .kind = JINJA_FUNCTION, .function = function };
}

void jinja_frame_enter(struct jinja_run *run, const struct jinja_scope *scope)
{
    for (int32_t i = 0; i < scope->n_loads && jinja_charge(run, 1); i++) {
        const struct jinja_load *load = &scope->loads[i];
        struct jinja_value *slot = &run->frame->slots[load->slot];
        if (load->kind == JINJA_LOAD_RESOLVE)
            *slot = resolve(run, load->name);
        else if (load->kind == JINJA_LOAD_ALIAS)
            *slot = jinja_frame_of(run, load->from)->slots[load->from.index];
        else if (load->kind == JINJA_LOAD_UNDEFINED)
            *slot = jinja_missing();
    }
}

void jinja_frame_leave(struct jinja_run *run, const struct jinja_scope *scope)
{
    for (int32_t i = 0; i < scope->n_loads; i++)
        run->frame->slots[scope->loads[i].slot] = jinja_missing();
}

void jinja_frame_set(struct jinja_run *run, struct jinja_slot slot, struct jinja_value value)
{
    jinja_frame_of(run, slot)->slots[slot.index] = value;
}

static void assign_attribute(struct jinja_run *run, const struct jinja_node *target,
                             struct jinja_value value)
{
    struct jinja_value of = jinja_frame_of(run, target->slot)->slots[target->slot.index];
    bool is_private = target->attr.n > 0 && target->attr.at[0] == '_';
    if (of.kind != JINJA_NAMESPACE)
        jinja_fail(run, of.kind == JINJA_DICT ? STATUS_UNSUPPORTED : STATUS_BAD_INPUT,
                   "cannot assign attribute on non-namespace object");
    else if (is_private)
        jinja_fail(run, STATUS_UNSUPPORTED,
                   "an attribute of a namespace that begins with an underscore");
    else
        jinja_value_set(run, of.dict, jinja_string(target->attr), value);
}

void jinja_frame_assign(struct jinja_run *run, const struct jinja_node *target,
                        struct jinja_value value)
{
    if (jinja_failed(run))
        return;
    if (target->kind == JINJA_NODE_NAME) {
        jinja_frame_set(run, target->slot, value);
        return;
    }
    if (target->kind == JINJA_NODE_NSREF) {
        assign_attribute(run, target, value);
        return;
    }
    struct jinja_value items = jinja_iter_list(run, value);
    int64_t n = 0;
    for (const struct jinja_node *part = target->a; part != NULL; part = part->next)
        n++;
    if (!jinja_failed(run) && items.list->n != n)
        jinja_fail(run, STATUS_BAD_INPUT, "%lld values are assigned to %lld names",
                   (long long)items.list->n, (long long)n);
    n = 0;
    for (const struct jinja_node *part = target->a; part != NULL && !jinja_failed(run);
         part = part->next)
        jinja_frame_assign(run, part, items.list->at[n++]);
}

/* This comes before the value is evaluated. */
void jinja_frame_check(struct jinja_run *run, const struct jinja_node *target)
{
    struct jinja_value of = jinja_none();
    if (target->kind == JINJA_NODE_NSREF)
        of = jinja_frame_of(run, target->slot)->slots[target->slot.index];
    if (target->kind == JINJA_NODE_NSREF && of.kind != JINJA_NAMESPACE)
        jinja_fail(run, STATUS_BAD_INPUT, "cannot assign attribute on non-namespace object");
    for (const struct jinja_node *part = target->kind == JINJA_NODE_TUPLE ? target->a : NULL;
         part != NULL; part = part->next)
        jinja_frame_check(run, part);
}
