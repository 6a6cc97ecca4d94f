/* The last pass over a program: what can be completed, how deep its calls are, and whether a rule
 * begins with itself. */
#include "grammar/build.h"

#include "base/mem.h"
#include <string.h>

#define NEVER UINT16_MAX /* no text completes this */

static uint16_t add(uint16_t a, uint32_t b)
{
    return a == NEVER || a + b > PROGRAM_DEPTH_MAX ? NEVER : (uint16_t)(a + b);
}

static uint16_t larger(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

static uint16_t object_height(const struct program *p, const struct program_object *object)
{
    uint16_t height = object->keys->n_states > 0 || object->min == 0 ? 0 : NEVER;
    if (object->min > object->max)
        return NEVER;
    for (uint32_t tag = 0; tag < object->n_tracked; tag++)
        if (object->required[tag / 64] >> tag % 64 & 1)
            height = larger(height, add(p->heights[object->rules[tag]], 1));
    return height;
}

static uint16_t array_height(const struct program *p, const struct program_array *array)
{
    uint16_t height = array->min > array->max ? NEVER : 0;
    for (uint32_t i = 0; i < array->min && i < array->n_first; i++)
        height = larger(height, add(p->heights[array->firsts[i]], 1));
    if (array->min > array->n_first)
        height =
            array->rest == PROGRAM_MANY ? NEVER : larger(height, add(p->heights[array->rest], 1));
    return height;
}

/* Returns the depth of calls that a completion from this node needs, by what is known so far. */
static uint16_t height_of(const struct program *p, const struct program_node *node)
{
    uint16_t next = p->nodes[node->next].height;
    switch ((enum program_op)node->op) {
    case OP_BYTE:
        return next;
    case OP_RAW:
        return p->dfas[node->x]->n_states > 0 ? next : NEVER;
    case OP_TEXT:
        return p->texts[node->x].dfa->n_states > 0 &&
                       p->texts[node->x].dfa->least[0] <= p->texts[node->x].max &&
                       p->texts[node->x].min <= p->texts[node->x].max
                   ? next
                   : NEVER;
    case OP_SPLIT:
        return next < p->nodes[node->x].height ? next : p->nodes[node->x].height;
    case OP_CALL:
        return larger(add(p->heights[node->x], 1), next);
    case OP_RETURN:
    case OP_FREE: /* it may end at once */
    case OP_DONE:
        return 0;
    case OP_REPEAT:
        return p->repeats[node->x].min == 0
                   ? next
                   : larger(next, add(p->heights[p->repeats[node->x].rule], 1));
    case OP_OBJECT_FIRST:
        return larger(next, object_height(p, &p->objects[node->x]));
    case OP_ARRAY_FIRST:
        return larger(next, array_height(p, &p->arrays[node->x]));
    default:
        return NEVER;
    }
}

/* Heights sink from NEVER until nothing changes: the least fixed point. */
static void find_heights(struct program *p)
{
    for (uint32_t i = 0; i < p->n_nodes; i++)
        p->nodes[i].height = NEVER;
    for (uint32_t r = 0; r < p->n_rules; r++)
        p->heights[r] = NEVER;
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = 0; i < p->n_nodes; i++) {
            uint16_t height = height_of(p, &p->nodes[i]);
            is_new |= height < p->nodes[i].height;
            p->nodes[i].height = height;
        }
        for (uint32_t r = 0; r < p->n_rules; r++) {
            is_new |= p->nodes[p->rules[r]].height < p->heights[r];
            p->heights[r] = p->nodes[p->rules[r]].height;
        }
    }
    for (uint32_t i = 0; i < p->n_nodes; i++) { /* the other nodes of objects and arrays */
        struct program_node *node = &p->nodes[i];
        bool is_later = (node->op > OP_OBJECT_FIRST && node->op <= OP_OBJECT_MORE) ||
                        node->op == OP_ARRAY_NEXT || node->op == OP_ARRAY_MORE;
        if (is_later)
            node->height = p->nodes[i - 1].height;
    }
}

/* ---- Objects and arrays. ---- */

/* Sets which tags the states of the keys still reach: sweeps until nothing changes. */
static void find_reach(struct program *p, struct program_object *object)
{
    const struct dfa *keys = object->keys;
    uint32_t k = keys->n_classes;
    object->reach = pile_take(&p->pile, sizeof(*object->reach) * (keys->n_states + 1));
    object->reaches_other = pile_take(&p->pile, keys->n_states + 1);
    object->is_any = pile_take(&p->pile, keys->n_states + 1);
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = keys->n_states; i-- > 0;) {
            uint64_t all[2] = { object->reach[i][0], object->reach[i][1] };
            uint8_t other = object->reaches_other[i];
            if (keys->tags[i] >= (int32_t)object->n_tracked)
                other = 1;
            else if (keys->tags[i] >= 0)
                all[keys->tags[i] / 64] |= UINT64_C(1) << keys->tags[i] % 64;
            for (uint32_t c = 0; c < k; c++) {
                uint32_t to = keys->to[i * k + c];
                if (to == DFA_NONE)
                    continue;
                all[0] |= object->reach[to][0];
                all[1] |= object->reach[to][1];
                other |= object->reaches_other[to];
            }
            is_new |= all[0] != object->reach[i][0] || all[1] != object->reach[i][1] ||
                      other != object->reaches_other[i];
            memcpy(object->reach[i], all, sizeof(all));
            object->reaches_other[i] = other;
        }
    }
    for (uint32_t i = 0; i < keys->n_states; i++)
        object->is_any[i] = (keys->flags[i] & DFA_TOTAL) != 0;
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = keys->n_states; i-- > 0;) {
            bool is_any = object->is_any[i] && object->reaches_other[i];
            for (uint32_t c = 0; c < k && is_any; c++)
                is_any = object->is_any[keys->to[i * k + c]];
            is_new |= is_any != object->is_any[i];
            object->is_any[i] = is_any;
        }
    }
}

/* Forbids a property that needs others which can't come. Returns whether there was one. */
static bool prune_needs(struct program_object *object)
{
    const uint64_t *reach = object->reach[0];
    bool is_pruned = false;
    for (uint32_t i = 0; i < object->n_needs; i++) {
        const struct program_needs *needs = &object->needs[i];
        if (((needs->others[0] & ~reach[0]) | (needs->others[1] & ~reach[1])) == 0)
            continue;
        for (uint32_t k = 0; k < object->keys->n_states; k++) {
            is_pruned |= object->keys->tags[k] == (int32_t)needs->tag;
            if (object->keys->tags[k] == (int32_t)needs->tag)
                object->keys->tags[k] = -1;
        }
    }
    return is_pruned;
}

/* Forbids the keys whose values can't be completed. */
static void prune_object(struct program *p, struct program_object *object)
{
    bool is_pruned = false;
    object->height = 0;
    for (uint32_t tag = 0; tag < object->n_tags; tag++)
        if (p->heights[object->rules[tag]] != NEVER &&
            p->heights[object->rules[tag]] > object->height)
            object->height = p->heights[object->rules[tag]];
    for (uint32_t i = 0; i < object->keys->n_states; i++) {
        int32_t tag = object->keys->tags[i];
        if (tag >= 0 && p->heights[object->rules[tag]] == NEVER) {
            object->keys->tags[i] = -1;
            is_pruned = true;
        }
    }
    if (is_pruned)
        dfa_trim(object->keys);
    find_reach(p, object);
    while (object->keys->n_states > 0 && prune_needs(object)) {
        dfa_trim(object->keys);
        find_reach(p, object);
    }
}

static void prune_array(const struct program *p, struct program_array *array)
{
    for (uint32_t i = 0; i < array->n_first && i < array->max; i++)
        if (p->heights[array->firsts[i]] == NEVER)
            array->max = i;
    bool has_rest = array->rest != PROGRAM_MANY && p->heights[array->rest] != NEVER;
    if (!has_rest && array->max > array->n_first)
        array->max = array->n_first;
}

/* ---- Left recursion. ---- */

static bool is_empty(const struct program *p, const struct program_node *node, const bool *nodes,
                     const bool *rules)
{
    switch ((enum program_op)node->op) {
    case OP_RAW:
        return p->dfas[node->x]->n_states > 0 && p->dfas[node->x]->tags[0] >= 0 &&
               nodes[node->next];
    case OP_SPLIT:
        return nodes[node->next] || nodes[node->x];
    case OP_CALL:
        return rules[node->x] && nodes[node->next];
    case OP_RETURN:
    case OP_FREE:
        return true;
    case OP_REPEAT:
        return (p->repeats[node->x].min == 0 || rules[p->repeats[node->x].rule]) &&
               nodes[node->next];
    default:
        return false;
    }
}

struct left { /* a rule's calls before its first byte */
    const struct program *p;
    const bool *rules; /* that may be empty */
    uint32_t *seen;    /* by node: rule + 1 */
    uint32_t *stack;
};

/* Collects the rules that a rule may call before its first byte. Returns how many. */
static uint32_t left_calls(struct left *l, uint32_t rule, uint32_t *out)
{
    uint32_t n = 0, n_out = 0;
    l->stack[n++] = l->p->rules[rule];
    while (n > 0) {
        uint32_t at = l->stack[--n];
        const struct program_node *node = &l->p->nodes[at];
        if (l->seen[at] == rule + 1)
            continue;
        l->seen[at] = rule + 1;
        uint32_t callee = node->op == OP_CALL     ? node->x
                          : node->op == OP_REPEAT ? l->p->repeats[node->x].rule
                                                  : UINT32_MAX;
        bool goes_on = node->op == OP_SPLIT || node->op == OP_REPEAT ||
                       (callee != UINT32_MAX && l->rules[callee]) ||
                       (node->op == OP_RAW && l->p->dfas[node->x]->n_states > 0 &&
                        l->p->dfas[node->x]->tags[0] >= 0);
        if (callee != UINT32_MAX)
            out[n_out++] = callee;
        if (goes_on)
            l->stack[n++] = node->next;
        if (node->op == OP_SPLIT)
            l->stack[n++] = node->x;
    }
    return n_out;
}

/* Returns whether some rule calls itself before its first byte: what is left when rules that call
 * no other ones are removed again and again. */
static bool has_circle(struct left *l, struct pile *pile)
{
    uint32_t n_rules = l->p->n_rules, n_edges = 0, n_done = 0, n_queue = 0;
    uint32_t *out = pile_take(pile, 4 * ((size_t)l->p->n_nodes + 1));
    uint32_t *n_calls = pile_take(pile, 4 * ((size_t)n_rules + 1));
    uint32_t *heads = pile_take(pile, 4 * ((size_t)n_rules + 1));
    uint32_t *queue = pile_take(pile, 4 * ((size_t)n_rules + 1));
    uint32_t *edges = NULL, n_max = 0; /* caller, next edge + 1 */
    for (uint32_t rule = 0; rule < n_rules; rule++) {
        n_calls[rule] = left_calls(l, rule, out);
        for (uint32_t i = 0; i < n_calls[rule]; i++, n_edges++) {
            if (n_edges == n_max) {
                edges = mem_grow(edges, 8 * (size_t)n_max, 8 * ((size_t)n_max * 2 + 64));
                n_max = n_max * 2 + 64;
            }
            edges[2 * n_edges] = rule;
            edges[2 * n_edges + 1] = heads[out[i]];
            heads[out[i]] = n_edges + 1;
        }
        if (n_calls[rule] == 0)
            queue[n_queue++] = rule;
    }
    while (n_done < n_queue)
        for (uint32_t e = heads[queue[n_done++]]; e != 0; e = edges[2 * (e - 1) + 1])
            if (--n_calls[edges[2 * (e - 1)]] == 0)
                queue[n_queue++] = edges[2 * (e - 1)];
    mem_give(edges);
    return n_queue < n_rules;
}

static bool is_left_recursive(const struct program *p)
{
    struct pile pile;
    pile_init(&pile);
    bool *nodes = pile_take(&pile, p->n_nodes + 1), *rules = pile_take(&pile, p->n_rules + 1);
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = 0; i < p->n_nodes; i++) {
            bool is_now = is_empty(p, &p->nodes[i], nodes, rules);
            is_new |= is_now != nodes[i];
            nodes[i] = is_now;
        }
        for (uint32_t r = 0; r < p->n_rules; r++) {
            is_new |= rules[r] != nodes[p->rules[r]];
            rules[r] = nodes[p->rules[r]];
        }
    }
    for (uint32_t i = 0; i < p->n_repeats; i++)
        if (rules[p->repeats[i].rule]) /* an empty part may stand for those that are missing */
            p->repeats[i].min = 0;
    struct left left = { .p = p, .rules = rules };
    left.seen = pile_take(&pile, 4 * ((size_t)p->n_nodes + 1));
    left.stack = pile_take(&pile, 4 * (2 * (size_t)p->n_nodes + 2));
    bool is_circle = has_circle(&left, &pile);
    pile_free(&pile);
    return is_circle;
}

/* Lists the calls of a rule by itself at its end. Returns how many; 0 when it also calls itself
 * elsewhere, since then its frames are shared by all readings of a text. */
static uint32_t find_tails(const struct program *p, uint32_t rule, uint32_t *seen, uint32_t *stack,
                           uint32_t *tails)
{
    uint32_t n = 0, n_tails = 0;
    stack[n++] = p->rules[rule];
    while (n > 0) {
        uint32_t at = stack[--n];
        const struct program_node *node = &p->nodes[at];
        if (seen[at] == rule + 1)
            continue;
        seen[at] = rule + 1;
        bool is_own = node->op == OP_CALL && node->x == rule;
        if (is_own && p->nodes[node->next].op != OP_RETURN)
            return 0;
        if (is_own)
            tails[n_tails++] = at;
        if (node->op == OP_SPLIT)
            stack[n++] = node->x;
        if (node->op != OP_RETURN && node->op != OP_DEAD && node->op != OP_DONE)
            stack[n++] = node->next;
    }
    return n_tails;
}

/* A rule that ends by calling itself begins anew instead, so that lists of any length need no
 * stack. */
static void loop_tails(struct program *p)
{
    uint32_t *seen = mem_take(4 * ((size_t)p->n_nodes + 1));
    uint32_t *stack = mem_take(4 * (2 * (size_t)p->n_nodes + 2));
    uint32_t *tails = mem_take(4 * ((size_t)p->n_nodes + 1));
    for (uint32_t rule = 0; rule < p->n_rules; rule++) {
        uint32_t n = find_tails(p, rule, seen, stack, tails);
        for (uint32_t i = 0; i < n; i++) {
            struct program_node *node = &p->nodes[tails[i]];
            node->op = OP_SPLIT;
            node->next = node->x = p->rules[rule];
        }
    }
    mem_give(seen);
    mem_give(stack);
    mem_give(tails);
}

bool build_end(struct build *b)
{
    struct program *p = b->program;
    if (b->is_bad)
        return false;
    p->heights = pile_take(&p->pile, sizeof(*p->heights) * (p->n_rules + 1));
    if (is_left_recursive(p)) {
        build_refuse(b, STATUS_BAD_INPUT, "a rule begins with itself (left recursion)");
        return false;
    }
    loop_tails(p);
    find_heights(p);
    if (p->heights[0] == NEVER) {
        build_refuse(b, STATUS_BAD_INPUT, "no text can satisfy it");
        return false;
    }
    for (uint32_t i = 0; i < p->n_objects; i++)
        prune_object(p, &p->objects[i]);
    for (uint32_t i = 0; i < p->n_arrays; i++)
        prune_array(p, &p->arrays[i]);
    return !b->is_bad;
}
