/* Following empty moves, calls and returns; the tables of frames and links. */
#include "grammar/automaton.h"

#include "base/mem.h"
#include "grammar/take.h"
#include <string.h>

void automaton_open(struct automaton *a)
{
    *a = (struct automaton){ 0 };
}

void automaton_close(struct automaton *a)
{
    mem_give(a->threads);
    mem_give(a->is_kept);
    mem_give(a->frames);
    mem_give(a->links);
    mem_give(a->calls);
    *a = (struct automaton){ 0 };
}

static void *grow(void *table, uint32_t n, uint32_t *n_max, size_t n_bytes)
{
    if (n < *n_max)
        return table;
    uint32_t more = *n_max * 2 + 32;
    table = mem_grow(table, n_bytes * *n_max, n_bytes * more);
    *n_max = more;
    return table;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* ---- Threads. ---- */

/* Returns whether two frames lead on in the same way. */
static bool same_frame(const struct automaton *a, uint32_t x, uint32_t y)
{
    return x == y || (a->frames[x].hash != 0 && a->frames[x].hash == a->frames[y].hash);
}

static bool same_thread(const struct automaton *a, const struct automaton_thread *x,
                        const struct automaton_thread *y)
{
    return x->pc == y->pc && x->a == y->a && x->b == y->b && x->n == y->n && x->hash == y->hash &&
           x->bits[0] == y->bits[0] && x->bits[1] == y->bits[1] &&
           same_frame(a, x->frame, y->frame);
}

/* Adds a thread, unless it is there since `from`, or needs more calls than there may be. */
static void push(struct automaton *a, uint32_t from, const struct automaton_thread *thread)
{
    uint32_t height = a->program->nodes[thread->pc].height;
    if (a->frames[thread->frame].depth + height > PROGRAM_DEPTH_MAX)
        return;
    for (uint32_t i = from; i < a->n_threads; i++)
        if (same_thread(a, &a->threads[i], thread))
            return;
    if (a->n_threads - from >= PROGRAM_THREADS_MAX) {
        a->is_full = true;
        return;
    }
    if (a->n_threads == a->n_threads_max) {
        uint32_t n_max = a->n_threads_max;
        a->is_kept = mem_grow(a->is_kept, n_max, n_max * 2 + 32);
        a->threads = grow(a->threads, a->n_threads, &a->n_threads_max, sizeof(*a->threads));
    }
    a->threads[a->n_threads++] = *thread;
}

static uint32_t add_frame(struct automaton *a, uint32_t depth)
{
    a->frames = grow(a->frames, a->n_frames, &a->n_frames_max, sizeof(*a->frames));
    a->frames[a->n_frames] = (struct automaton_frame){ .depth = depth };
    return a->n_frames++;
}

static void add_link(struct automaton *a, uint32_t frame, struct automaton_link link)
{
    a->links = grow(a->links, a->n_links, &a->n_links_max, sizeof(*a->links));
    link.next = a->frames[frame].links;
    a->links[a->n_links++] = link;
    a->frames[frame].links = a->n_links;
}

/* Empties the tables, except for the frame of the whole text. */
static void empty(struct automaton *a, const struct program *program)
{
    a->program = program;
    a->n_threads = a->n_frames = a->n_links = a->n_calls = 0;
    a->is_full = false;
    (void)add_frame(a, 0);
    a->frames[0].hash = 1;
}

/* ---- Calls and returns. ---- */

static void go_back(struct automaton *a, uint32_t from, const struct automaton_link *link)
{
    const struct automaton_thread thread = {
        .pc = link->pc, .frame = link->frame, .n = link->n, .bits = { link->bits[0], link->bits[1] }
    };
    push(a, from, &thread);
}

static bool is_repeat(const struct automaton *a, uint32_t pc)
{
    return a->program->nodes[pc].op == OP_REPEAT;
}

static void call(struct automaton *a, uint32_t from, uint32_t rule, struct automaton_link link)
{
    uint32_t depth = a->frames[link.frame].depth + 1, i = 0;
    if (depth + a->program->heights[rule] > PROGRAM_DEPTH_MAX)
        return;
    while (i < a->n_calls && a->calls[i].rule != rule)
        i++;
    if (i == a->n_calls) {
        a->calls = grow(a->calls, a->n_calls, &a->n_calls_max, sizeof(*a->calls));
        uint32_t frame = add_frame(a, depth);
        a->calls[a->n_calls++] = (struct automaton_call){ rule, frame, false };
        add_link(a, frame, link);
        const struct automaton_thread thread = { .pc = a->program->rules[rule], .frame = frame };
        push(a, from, &thread);
        return;
    }
    uint32_t frame = a->calls[i].frame;
    for (uint32_t at = a->frames[frame].links; at != 0; at = a->links[at - 1].next) {
        const struct automaton_link *l = &a->links[at - 1];
        if (l->pc == link.pc && l->n == link.n && same_frame(a, l->frame, link.frame) &&
            l->bits[0] == link.bits[0] && l->bits[1] == link.bits[1])
            return;
    }
    if (depth > a->frames[frame].depth)
        a->frames[frame].depth = depth;
    add_link(a, frame, link);
    if (a->calls[i].has_returned && !is_repeat(a, link.pc))
        go_back(a, from, &link);
}

static void go_back_all(struct automaton *a, uint32_t from, uint32_t frame)
{
    bool is_open = a->frames[frame].hash == 0; /* it was called at this byte */
    if (frame == 0) {
        const struct automaton_thread thread = { .pc = a->program->done };
        push(a, from, &thread);
    }
    for (uint32_t i = 0; i < a->n_calls && is_open; i++)
        a->calls[i].has_returned |= a->calls[i].frame == frame;
    for (uint32_t at = a->frames[frame].links; at != 0; at = a->links[at - 1].next) {
        const struct automaton_link link = a->links[at - 1];
        if (!is_open || !is_repeat(a, link.pc))
            go_back(a, from, &link);
    }
}

/* Fixes a frame: sets its hash, after those of its callers. */
static uint64_t fix(struct automaton *a, uint32_t frame)
{
    if (a->frames[frame].hash != 0)
        return a->frames[frame].hash;
    uint64_t sum = 0;
    for (uint32_t at = a->frames[frame].links; at != 0; at = a->links[at - 1].next) {
        uint64_t hash = mix(fix(a, a->links[at - 1].frame), a->links[at - 1].pc);
        hash = mix(hash, a->links[at - 1].n);
        sum += mix(mix(hash, a->links[at - 1].bits[0]), a->links[at - 1].bits[1]);
    }
    a->frames[frame].hash = mix(sum, a->frames[frame].depth) | 2;
    return a->frames[frame].hash;
}

/* ---- One byte. ---- */

/* Calls the rule of an item from an array's node. */
static void call_item(struct automaton *a, uint32_t from, const struct automaton_thread *t)
{
    const struct program_node *node = &a->program->nodes[t->pc];
    const struct program_array *array = &a->program->arrays[node->x];
    if (t->n >= array->max)
        return;
    uint32_t rule = t->n < array->n_first ? array->firsts[t->n] : array->rest;
    uint32_t least = array->min > array->n_first ? array->min : array->n_first;
    if (rule == PROGRAM_MANY)
        return;
    struct automaton_link link = { .pc = node->op == OP_ARRAY_FIRST ? t->pc + 1 : t->pc - 1,
                                   .frame = t->frame,
                                   .n = t->n };
    if (array->max != PROGRAM_MANY || t->n < least)
        link.n++;
    call(a, from, rule, link);
}

static void repeat(struct automaton *a, uint32_t from, const struct automaton_thread *t)
{
    const struct program_node *node = &a->program->nodes[t->pc];
    const struct program_repeat *r = &a->program->repeats[node->x];
    struct automaton_link link = { .pc = t->pc, .frame = t->frame, .n = t->n };
    if (t->n >= r->min) {
        const struct automaton_thread thread = { .pc = node->next, .frame = t->frame };
        push(a, from, &thread);
    }
    if (r->max != PROGRAM_MANY || t->n < r->min)
        link.n++;
    if (r->max == PROGRAM_MANY || t->n < r->max)
        call(a, from, r->rule, link);
}

/* Follows the empty moves of one thread. Returns whether it waits for a byte, or is done. */
static bool follow(struct automaton *a, uint32_t from, const struct automaton_thread *t)
{
    const struct program *p = a->program;
    const struct program_node *node = &p->nodes[t->pc];
    struct automaton_thread next = *t;
    switch ((enum program_op)node->op) {
    case OP_SPLIT:
        next.pc = node->next;
        push(a, from, &next);
        next.pc = node->x;
        push(a, from, &next);
        return false;
    case OP_CALL:
        call(a, from, node->x,
             (struct automaton_link){ .pc = node->next, .frame = t->frame, .n = t->n });
        return false;
    case OP_RETURN:
        go_back_all(a, from, t->frame);
        return false;
    case OP_REPEAT:
        repeat(a, from, t);
        return false;
    case OP_FREE:
        push(a, from, &(struct automaton_thread){ .pc = p->frees[node->x].end, .frame = t->frame });
        return true;
    case OP_RAW:
        if (t->b == 0 && p->dfas[node->x]->tags[t->a] >= 0) {
            next.pc = node->next;
            next.a = 0;
            push(a, from, &next);
        }
        return t->b != 0 || (p->dfas[node->x]->flags[t->a] & DFA_OPEN) != 0;
    case OP_OBJECT_VALUE:
        call(a, from, p->objects[node->x].rules[t->a],
             (struct automaton_link){ .pc = t->pc + 1,
                                      .frame = t->frame,
                                      .n = t->n,
                                      .bits = { t->bits[0], t->bits[1] } });
        return true;
    case OP_ARRAY_FIRST:
    case OP_ARRAY_MORE:
        call_item(a, from, t);
        return true;
    case OP_DEAD:
        return false;
    default:
        return true;
    }
}

/* Follows the empty moves of threads [from, n), and keeps those that wait for a byte. */
static void settle(struct automaton *a, uint32_t from)
{
    uint32_t n = from;
    a->n_calls = 0;
    for (uint32_t i = from; i < a->n_threads; i++) {
        const struct automaton_thread t = a->threads[i];
        bool is_kept = follow(a, from, &t);
        a->is_kept[i] = is_kept; /* the tables may have moved */
    }
    for (uint32_t i = from; i < a->n_threads; i++) {
        if (!a->is_kept[i])
            continue;
        (void)fix(a, a->threads[i].frame);
        a->threads[n++] = a->threads[i];
    }
    a->n_threads = n;
}

void automaton_begin(struct automaton *a, const struct program *program)
{
    empty(a, program);
    const struct automaton_thread first = { .pc = program->rules[0] };
    push(a, 0, &first);
    settle(a, 0);
}

uint32_t automaton_step(struct automaton *a, uint32_t from, uint32_t to, uint8_t byte)
{
    uint32_t n = a->n_threads;
    for (uint32_t i = from; i < to; i++) {
        struct automaton_thread next;
        if (take_byte(a, &a->threads[i], byte, &next))
            push(a, n, &next);
    }
    if (a->n_threads > n)
        settle(a, n);
    return a->n_threads - n;
}

struct automaton_mark automaton_at(const struct automaton *a)
{
    return (struct automaton_mark){ a->n_threads, a->n_frames, a->n_links };
}

void automaton_cut(struct automaton *a, struct automaton_mark mark)
{
    a->n_threads = mark.n_threads;
    a->n_frames = mark.n_frames;
    a->n_links = mark.n_links;
}

/* ---- The whole state. ---- */

void automaton_move(const struct automaton *a, uint32_t from, struct automaton *into)
{
    uint32_t *names = mem_take(sizeof(*names) * (a->n_frames + 1)); /* + 1 */
    uint32_t *order = mem_take(sizeof(*order) * (a->n_frames + 1)), n = 1;
    empty(into, a->program);
    into->is_full = a->is_full;
    names[0] = 1;
    for (uint32_t i = from; i < a->n_threads; i++) {
        if (names[a->threads[i].frame] == 0) {
            order[n++] = a->threads[i].frame;
            names[a->threads[i].frame] = add_frame(into, 0) + 1;
        }
    }
    for (uint32_t k = 1; k < n; k++) { /* in breadth: order grows while links are read */
        uint32_t old = order[k], new = names[old] - 1;
        into->frames[new].hash = a->frames[old].hash;
        into->frames[new].depth = a->frames[old].depth;
        for (uint32_t at = a->frames[old].links; at != 0; at = a->links[at - 1].next) {
            struct automaton_link link = a->links[at - 1];
            if (names[link.frame] == 0) {
                order[n++] = link.frame;
                names[link.frame] = add_frame(into, 0) + 1;
            }
            link.frame = names[link.frame] - 1;
            add_link(into, new, link);
        }
    }
    for (uint32_t i = from; i < a->n_threads; i++) {
        struct automaton_thread thread = a->threads[i];
        thread.frame = names[thread.frame] - 1;
        push(into, 0, &thread);
    }
    mem_give(names);
    mem_give(order);
}

uint64_t automaton_hash(const struct automaton *a, const struct automaton_thread *t)
{
    uint64_t hash = mix(a->program->hash, a->frames[t->frame].hash);
    hash = mix(mix(hash, (uint64_t)t->pc << 32 | t->a), (uint64_t)t->b << 32 | t->n);
    return mix(mix(mix(hash, t->hash), t->bits[0]), t->bits[1]);
}

bool automaton_is_done(const struct automaton *a, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (a->threads[i].pc == a->program->done)
            return true;
    return false;
}
