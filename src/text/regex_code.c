/* From a tree to a program for backtracking.
 *
 * Counted repeats of more than one code point are written out: "(?:ab){1,3}" is ab(?:ab(?:ab)?)?.
 * The program's size is bounded, and so is the time to make it. */
#include "text/regex_code.h"
#include "base/mem.h"
#include <string.h>

enum { OPS_MAX = 4096, VISITS_MAX = 1 << 18 };

struct writer {
    struct regex_program *program;
    struct fault *fault;
    int32_t n_visits;
};

static enum status write_node(struct writer *w, int32_t id);

static enum status refuse_size(const struct writer *w)
{
    return fault_set(w->fault, STATUS_UNSUPPORTED,
                     "tokenizer: the regular expression is too large: its program has more than "
                     "%d steps",
                     OPS_MAX);
}

/* Adds an op. Returns OPS_MAX when there is no room. */
static uint32_t add_op(struct writer *w, enum regex_op_kind kind, uint32_t value)
{
    struct regex_program *program = w->program;
    if (program->n_ops == OPS_MAX)
        return OPS_MAX;
    program->ops[program->n_ops] =
        (struct regex_op){ .kind = (uint8_t)kind, .value = value, .min = 1, .max = 1 };
    return program->n_ops++;
}

static const struct regex_node *node_of(const struct writer *w, int32_t id)
{
    return &w->program->tree.nodes[id];
}

static bool is_single(const struct regex_node *node)
{
    return node->kind == REGEX_CODE || node->kind == REGEX_SET;
}

static enum status write_run(struct writer *w, const struct regex_node *repeat,
                             enum regex_mode mode)
{
    const struct regex_node *child = node_of(w, repeat->child);
    uint32_t at = add_op(w, REGEX_OP_RUN, child->value);
    if (at == OPS_MAX)
        return refuse_size(w);
    struct regex_op *op = &w->program->ops[at];
    op->is_code = child->kind == REGEX_CODE;
    op->mode = (uint8_t)mode;
    op->min = repeat->min;
    op->max = repeat->max;
    return STATUS_OK;
}

/* Adds a split, which set_ways completes. A lazy one prefers the outer way. */
static uint32_t add_split(struct writer *w, bool is_lazy)
{
    return add_op(w, REGEX_OP_SPLIT, is_lazy);
}

static void set_ways(struct writer *w, uint32_t split, uint32_t inner, uint32_t outer)
{
    struct regex_op *op = &w->program->ops[split];
    op->a = op->value != 0 ? outer : inner;
    op->b = op->value != 0 ? inner : outer;
}

static enum status write_endless(struct writer *w, const struct regex_node *repeat)
{
    uint32_t split = add_split(w, repeat->is_lazy);
    if (split == OPS_MAX)
        return refuse_size(w);
    enum status status = write_node(w, repeat->child);
    uint32_t jump = status == STATUS_OK ? add_op(w, REGEX_OP_JUMP, 0) : 0;
    if (status != STATUS_OK || jump == OPS_MAX)
        return status != STATUS_OK ? status : refuse_size(w);
    w->program->ops[jump].a = split;
    set_ways(w, split, split + 1, w->program->n_ops);
    return STATUS_OK;
}

static enum status write_repeat(struct writer *w, int32_t id)
{
    const struct regex_node *repeat = node_of(w, id);
    enum status status = STATUS_OK;
    if (is_single(node_of(w, repeat->child)))
        return write_run(w, repeat, repeat->is_lazy ? REGEX_LAZY : REGEX_GREEDY);
    for (int32_t i = 0; i < repeat->min && status == STATUS_OK; i++)
        status = write_node(w, repeat->child);
    if (status == STATUS_OK && repeat->max == REGEX_ENDLESS)
        return write_endless(w, repeat);
    uint32_t last = OPS_MAX; /* the splits whose outer way is the end, linked by b */
    for (int32_t i = repeat->min; i < repeat->max && status == STATUS_OK; i++) {
        uint32_t split = add_split(w, repeat->is_lazy);
        if (split == OPS_MAX)
            return refuse_size(w);
        w->program->ops[split].b = last;
        last = split;
        status = write_node(w, repeat->child);
    }
    while (last != OPS_MAX && status == STATUS_OK) {
        uint32_t before = w->program->ops[last].b;
        set_ways(w, last, last + 1, w->program->n_ops);
        last = before;
    }
    return status;
}

static enum status write_branch(struct writer *w, int32_t id, bool is_behind)
{
    if (is_behind) { /* its width is fixed, see regex_tree.c */
        uint32_t at = add_op(w, REGEX_OP_BACK, (uint32_t)regex_tree_width(&w->program->tree, id));
        if (at == OPS_MAX)
            return refuse_size(w);
    }
    return write_node(w, id);
}

static enum status write_alternatives(struct writer *w, int32_t id, bool is_behind)
{
    const struct regex_node *node = node_of(w, id);
    if (node->kind != REGEX_ALT)
        return write_branch(w, id, is_behind);
    enum status status = STATUS_OK;
    uint32_t last = OPS_MAX; /* the jumps to the end, linked by a */
    for (int32_t child = node->child; child != REGEX_NONE && status == STATUS_OK;) {
        int32_t next = node_of(w, child)->next;
        uint32_t split = next != REGEX_NONE ? add_split(w, false) : 0;
        status = split != OPS_MAX ? write_branch(w, child, is_behind) : refuse_size(w);
        if (status == STATUS_OK && next != REGEX_NONE) {
            uint32_t jump = add_op(w, REGEX_OP_JUMP, 0);
            if (jump == OPS_MAX)
                return refuse_size(w);
            w->program->ops[jump].a = last;
            last = jump;
            set_ways(w, split, split + 1, w->program->n_ops);
        }
        child = next;
    }
    while (last != OPS_MAX && status == STATUS_OK) {
        uint32_t before = w->program->ops[last].a;
        w->program->ops[last].a = w->program->n_ops;
        last = before;
    }
    return status;
}

/* Writes a LOOK or an ATOMIC with its inside. */
static enum status write_inside(struct writer *w, int32_t id)
{
    const struct regex_node *node = node_of(w, id), *child = node_of(w, node->child);
    if (node->kind == REGEX_ATOMIC && child->kind == REGEX_REPEAT && !child->is_lazy &&
        is_single(node_of(w, child->child)))
        return write_run(w, child, REGEX_POSSESSIVE);
    uint32_t at =
        add_op(w, node->kind == REGEX_LOOK ? REGEX_OP_LOOK : REGEX_OP_ATOMIC, node->is_behind);
    if (at == OPS_MAX)
        return refuse_size(w);
    w->program->ops[at].is_negative = node->is_negative;
    enum status status = write_alternatives(w, node->child, node->is_behind);
    if (status == STATUS_OK && add_op(w, REGEX_OP_END, 0) == OPS_MAX)
        status = refuse_size(w);
    w->program->ops[at].a = w->program->n_ops;
    return status;
}

static enum status write_node(struct writer *w, int32_t id)
{
    const struct regex_node *node = node_of(w, id);
    enum status status = STATUS_OK;
    uint32_t at = 0;
    if (w->n_visits++ == VISITS_MAX)
        return refuse_size(w);
    switch (node->kind) {
    case REGEX_CODE:
        at = add_op(w, REGEX_OP_CODE, node->value);
        break;
    case REGEX_SET:
        at = add_op(w, REGEX_OP_SET, node->value);
        break;
    case REGEX_ASSERT:
        at = add_op(w, REGEX_OP_ASSERT, node->value);
        break;
    case REGEX_CAT:
        for (int32_t child = node->child; child != REGEX_NONE && status == STATUS_OK;) {
            int32_t next = node_of(w, child)->next;
            status = write_node(w, child);
            child = next;
        }
        return status;
    case REGEX_ALT:
        return write_alternatives(w, id, false);
    case REGEX_REPEAT:
        return write_repeat(w, id);
    case REGEX_ATOMIC:
    case REGEX_LOOK:
        return write_inside(w, id);
    default:
        break;
    }
    return at != OPS_MAX ? STATUS_OK : refuse_size(w);
}

/* --- what may begin --- */

static void add_byte(struct regex_first *first, unsigned byte)
{
    first->bytes[byte / 64] |= (uint64_t)1 << byte % 64;
}

static void add_code(struct regex_first *first, uint32_t code)
{
    char bytes[4] = { 0 };
    if (utf8_encode(code, bytes) > 0)
        add_byte(first, (unsigned char)bytes[0]);
}

static void add_set(struct regex_first *first, const struct regex_set *set)
{
    first->bytes[0] |= set->ascii[0];
    first->bytes[1] |= set->ascii[1];
    for (uint32_t page = 0; page < REGEX_PAGES; page++) {
        const uint32_t *words = &set->pages[8 * (size_t)set->index[page]];
        for (uint32_t i = page == 0 ? 4 : 0; i < 8; i++)
            if (words[i] != 0) /* 32 neighbours begin with one byte */
                add_code(first, page * 256 + i * 32);
    }
}

/* Adds the bytes that may begin at op `at`. seen[i]: op i was added already. */
static void find_first(const struct regex_program *program, uint32_t at, struct regex_first *first,
                       uint8_t *seen, const struct regex_first *of_sets)
{
    while (!seen[at]) {
        const struct regex_op *op = &program->ops[at];
        seen[at] = 1;
        bool takes = op->kind == REGEX_OP_CODE || op->kind == REGEX_OP_SET ||
                     (op->kind == REGEX_OP_RUN && op->max != 0);
        bool is_code = op->kind == REGEX_OP_CODE || op->is_code;
        if (takes && is_code)
            add_code(first, op->value);
        for (size_t i = 0; takes && !is_code && i < 4; i++)
            first->bytes[i] |= of_sets[op->value].bytes[i];
        if (takes && op->min > 0)
            return;
        if (op->kind == REGEX_OP_END || op->kind == REGEX_OP_BACK) {
            first->takes_nothing = true; /* this op does not tell */
            return;
        }
        if (op->kind == REGEX_OP_SPLIT)
            find_first(program, op->b, first, seen, of_sets);
        if (op->kind == REGEX_OP_SPLIT || op->kind == REGEX_OP_JUMP || op->kind == REGEX_OP_LOOK)
            at = op->a;
        else
            at++;
    }
}

static void find_firsts(struct regex_program *program)
{
    uint8_t *seen = mem_take(OPS_MAX);
    size_t n_sets = program->tree.n_sets;
    struct regex_first *of_sets = mem_take((n_sets + 1) * sizeof(*of_sets));
    for (size_t i = 0; i < n_sets; i++)
        add_set(&of_sets[i], program->tree.sets[i]);
    program->firsts = mem_take((2 * (size_t)program->n_ops + 1) * sizeof(*program->firsts));
    find_first(program, 0, &program->firsts[0], seen, of_sets);
    program->n_firsts = 1;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        struct regex_op *op = &program->ops[i];
        if (op->kind != REGEX_OP_SPLIT)
            continue;
        op->first = program->n_firsts;
        for (int k = 0; k < 2; k++) {
            memset(seen, 0, OPS_MAX);
            find_first(program, k == 0 ? op->a : op->b, &program->firsts[program->n_firsts++], seen,
                       of_sets);
        }
    }
    mem_give(of_sets);
    mem_give(seen);
}

enum status regex_code_make(struct regex_program *program, struct fault *fault)
{
    struct writer w = { .program = program, .fault = fault };
    program->ops = mem_take(OPS_MAX * sizeof(*program->ops));
    enum status status = write_node(&w, program->tree.root);
    if (status == STATUS_OK && add_op(&w, REGEX_OP_END, 0) == OPS_MAX)
        status = refuse_size(&w);
    if (status == STATUS_OK)
        find_firsts(program);
    return status;
}

void regex_code_free(struct regex_program *program)
{
    regex_tree_free(&program->tree);
    mem_give(program->ops);
    mem_give(program->firsts);
}
