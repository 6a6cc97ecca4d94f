/* The group device. */
#include "group/group.h"

#include "base/mem.h"
#include "base/team.h"
#include "group/chain.h"
#include "group/plan.h"
#include "group/program.h"
#include "group/slice.h"
#include <stdio.h>

/* Work in flight, as each rank has it. The work of the group refers to its slot as `next`. */
struct slot {
    struct compute_work link; /* .next: the next free slot */
    struct compute_pass passes[COMPUTE_GROUP_RANKS_MAX];
    struct compute_copy copies[COMPUTE_GROUP_RANKS_MAX];
};
struct group {
    struct compute_device face;
    struct compute_lane lane;
    char name[64];
    int n;
    bool is_chain; /* each rank has some layers, else a part of every layer */
    struct group_chain chain;
    struct compute_device *ranks[COMPUTE_GROUP_RANKS_MAX];
    struct compute_group meeting;
    struct compute_group_rank ends[COMPUTE_GROUP_RANKS_MAX];
    struct lock *lock; /* of slots, and of the order in which ranks get work */
    struct slot *free;
};

/* ---- Memory: the host's, which all ranks can read. ---- */

static enum status memory_open(void *self, const struct compute_memory_options *options,
                               struct compute_memory **out, struct fault *fault)
{
    struct compute_device *first = ((struct group *)self)->ranks[0];
    return first->memory_open(first->self, options, out, fault);
}

static void memory_close(void *self, struct compute_memory *memory)
{
    struct compute_device *first = ((struct group *)self)->ranks[0];
    first->memory_close(first->self, memory);
}

static bool memory_back(void *self, struct compute_memory *memory, int64_t from, int64_t to)
{
    struct compute_device *first = ((struct group *)self)->ranks[0];
    return first->memory_back(first->self, memory, from, to);
}

static void memory_drop(void *self, struct compute_memory *memory, int64_t from, int64_t to)
{
    struct compute_device *first = ((struct group *)self)->ranks[0];
    first->memory_drop(first->self, memory, from, to);
}

/* ---- Weights: the ranks' parts, one behind the other. ---- */

struct part { /* the i-th of a tensor */
    struct compute_device *rank;
    struct tensor tensor;
    int64_t n_bytes;
};

/* Returns the number of parts of a tensor. Some of these may be missing. */
static int n_parts_of(const struct group *g, const struct tensor *tensor)
{
    return tensor->split.kind == TENSOR_BOTH ? 2 * g->n : g->n;
}

/* Returns false when there is no i-th part. */
static bool find_part(const struct group *g, const struct tensor *tensor, int i, struct part *part)
{
    enum tensor_split_kind kind =
        i < g->n ? (enum tensor_split_kind)tensor->split.kind : TENSOR_ROWS;
    part->rank = g->ranks[i % g->n];
    if (!group_slice_part(tensor, kind, i % g->n, g->n, &part->tensor))
        return false;
    int64_t n_bytes = part->rank->packed_bytes(part->rank->self, &part->tensor);
    part->n_bytes = (int64_t)align_up_u64((uint64_t)n_bytes, 64);
    return true;
}

static int64_t packed_bytes(void *self, const struct tensor *tensor)
{
    const struct group *g = self;
    int64_t n_bytes = 0;
    struct part part;
    for (int i = 0; i < n_parts_of(g, tensor); i++)
        n_bytes += find_part(g, tensor, i, &part) ? part.n_bytes : 0;
    return n_bytes;
}

static enum status split(void *self, const struct compute_program *program, struct tensor *tensors,
                         struct fault *fault)
{
    const struct group *g = self;
    return g->is_chain ? group_chain_split(program, &g->chain, tensors, fault)
                       : group_plan_split(program, g->n, tensors, fault);
}

static enum status pack(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct fault *fault)
{
    const struct group *g = self;
    struct part part;
    enum status status = STATUS_OK;
    for (int i = 0; i < n_parts_of(g, tensor) && status == STATUS_OK; i++) {
        if (!find_part(g, tensor, i, &part))
            continue;
        status = part.rank->pack(part.rank->self, &part.tensor, memory, at, fault);
        at += part.n_bytes;
    }
    return status;
}

static void unbind(void *self, struct compute_weight *weight)
{
    const struct group *g = self;
    for (int i = 0; i < g->n; i++) {
        if (weight->of[i] != NULL)
            g->ranks[i]->unbind(g->ranks[i]->self, weight->of[i]);
        if (weight->rows[i] != NULL)
            g->ranks[i]->unbind(g->ranks[i]->self, weight->rows[i]);
    }
    mem_give(weight);
}

static enum status bind(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct compute_weight **out, struct fault *fault)
{
    const struct group *g = self;
    struct compute_weight *weight = mem_take(sizeof *weight);
    struct part part;
    enum status status = STATUS_OK;
    weight->split = tensor->split;
    for (int i = 0; i < n_parts_of(g, tensor) && status == STATUS_OK; i++) {
        struct compute_weight **own = i < g->n ? &weight->of[i] : &weight->rows[i - g->n];
        if (!find_part(g, tensor, i, &part))
            continue;
        status = part.rank->bind(part.rank->self, &part.tensor, memory, at, own, fault);
        at += part.n_bytes;
    }
    if (status != STATUS_OK)
        unbind(self, weight);
    else
        *out = weight;
    return status;
}

/* ---- Workspaces. ---- */

struct workspace {
    struct compute_workspace
        face;      /* its memory: logits (n_logit_rows, n_vocabulary) of all ranks */
    int32_t *last; /* (n_logit_rows) drawn ids */
    struct group_program programs[COMPUTE_GROUP_RANKS_MAX];
    struct compute_workspace *of[COMPUTE_GROUP_RANKS_MAX];
};

/* Returns the rank that draws: it has the logits, or all have parts of them. */
static int drawing_rank(const struct group *g)
{
    return g->is_chain ? g->n - 1 : 0;
}

static enum status make_program(struct group *g, const struct compute_program *program, int i,
                                int32_t *last, struct group_program *out, struct fault *fault)
{
    const struct compute_rank rank = { &g->ends[i], i, i == drawing_rank(g), !g->is_chain, last };
    return g->is_chain ? group_chain_program(out, program, &rank, &g->chain, fault)
                       : group_program_init(out, program, &rank, g->n, fault);
}

static int64_t logits_bytes(const struct compute_program *program, struct compute_sizes sizes)
{
    return (int64_t)sizeof(float) * sizes.n_logit_rows * program->n_vocabulary;
}

static int64_t workspace_bytes(void *self, const struct compute_lane *lane,
                               const struct compute_program *program, struct compute_sizes sizes)
{
    struct group *g = self;
    int64_t n_bytes = logits_bytes(program, sizes) + (int64_t)sizeof(int32_t) * sizes.n_logit_rows;
    (void)lane;
    for (int i = 0; i < g->n; i++) {
        struct compute_device *rank = g->ranks[i];
        struct group_program own;
        /* A program that can't be shared is refused when it is loaded. */
        bool is_shared = make_program(g, program, i, NULL, &own, NULL) == STATUS_OK;
        n_bytes += rank->workspace_bytes(rank->self, rank->lanes[0],
                                         is_shared ? &own.program : program, sizes);
        group_program_free(&own);
    }
    return n_bytes;
}

static void workspace_close(void *self, struct compute_workspace *face)
{
    struct group *g = self;
    struct workspace *w = (struct workspace *)face;
    if (w == NULL)
        return;
    for (int i = 0; i < g->n; i++) {
        g->ranks[i]->workspace_close(g->ranks[i]->self, w->of[i]);
        group_program_free(&w->programs[i]);
    }
    if (w->face.memory != NULL)
        memory_close(g, w->face.memory);
    mem_give(w->last);
    mem_give(w);
}

static enum status workspace_open(void *self, struct compute_lane *lane,
                                  const struct compute_program *program, struct compute_sizes sizes,
                                  struct compute_workspace **out, struct fault *fault)
{
    struct group *g = self;
    const struct compute_memory_options options = { .n_bytes = logits_bytes(program, sizes) };
    struct workspace *w = mem_take(sizeof *w);
    (void)lane;
    w->face.sizes = sizes;
    w->last = mem_take(sizeof *w->last * (size_t)sizes.n_logit_rows);
    enum status status = memory_open(g, &options, &w->face.memory, fault);
    for (int i = 0; i < g->n && status == STATUS_OK; i++) {
        struct compute_device *rank = g->ranks[i];
        status = make_program(g, program, i, w->last, &w->programs[i], fault);
        if (status == STATUS_OK)
            status = rank->workspace_open(rank->self, rank->lanes[0], &w->programs[i].program,
                                          sizes, &w->of[i], fault);
    }
    if (status != STATUS_OK) {
        workspace_close(g, &w->face);
        return status;
    }
    *out = &w->face;
    return STATUS_OK;
}

/* ---- Work. ---- */

static struct compute_work *work_of(struct slot *slot, const struct compute_work *work, int i)
{
    return work->kind == COMPUTE_WORK_PASS ? &slot->passes[i].work : &slot->copies[i].work;
}

static void fill_pass(const struct compute_pass *pass, int i, struct compute_pass *own)
{
    struct workspace *w = (struct workspace *)pass->workspace;
    const struct group_program *program = &w->programs[i];
    *own = *pass;
    own->program = &program->program;
    own->workspace = w->of[i];
    own->kv.first_head = program->first_head;
    if (own->logits == NULL)
        own->logits = (float *)(void *)w->face.memory->base;
    if (compute_draws(own->program))
        return;
    own->has_late_masks = false;
    own->n_vectors = 0;
}

/* Each rank copies some of the parts. */
static void fill_copy(struct group *g, const struct compute_copy *copy, int i,
                      struct compute_copy *own)
{
    struct group_share share = group_slice_share(copy->n_parts, 1, i, g->n);
    *own = *copy;
    own->parts += share.from;
    own->n_parts = share.to - share.from;
    own->group = &g->ends[i];
}

static void begin(void *self, struct compute_lane *lane, struct compute_work *work)
{
    struct group *g = self;
    (void)lane;
    lock_take(g->lock);
    struct slot *slot = g->free;
    if (slot != NULL)
        g->free = (struct slot *)slot->link.next;
    else
        slot = mem_take(sizeof *slot);
    for (int i = 0; i < g->n; i++) {
        if (work->kind == COMPUTE_WORK_PASS)
            fill_pass((const struct compute_pass *)(void *)work, i, &slot->passes[i]);
        else
            fill_copy(g, (const struct compute_copy *)(void *)work, i, &slot->copies[i]);
    }
    work->next = &slot->link;
    atomic_store(&work->state, COMPUTE_BEGUN);
    for (int i = 0; i < g->n; i++)
        g->ranks[i]->begin(g->ranks[i]->self, g->ranks[i]->lanes[0], work_of(slot, work, i));
    lock_put(g->lock);
}

/* Returns the state of work that has ended on all ranks; BEGUN: it has not. */
static enum compute_state poll_ranks(struct group *g, struct slot *slot,
                                     const struct compute_work *work)
{
    enum compute_state all = COMPUTE_DONE;
    bool is_begun = false;
    for (int i = 0; i < g->n; i++) {
        enum compute_state state = g->ranks[i]->poll(g->ranks[i]->self, work_of(slot, work, i));
        is_begun = is_begun || state == COMPUTE_BEGUN;
        if (state != COMPUTE_BEGUN && state > all)
            all = state;
    }
    if (is_begun && all != COMPUTE_DONE)
        compute_group_fail(&g->meeting); /* the others wait for a rank that does not come */
    return is_begun ? COMPUTE_BEGUN : all;
}

static enum compute_state poll(void *self, struct compute_work *work)
{
    struct group *g = self;
    lock_take(g->lock);
    enum compute_state state = (enum compute_state)atomic_load(&work->state);
    struct slot *slot = (struct slot *)work->next;
    if (state == COMPUTE_BEGUN)
        state = poll_ranks(g, slot, work);
    if (state != COMPUTE_BEGUN && atomic_load(&work->state) == COMPUTE_BEGUN) {
        work->begin_ns = work_of(slot, work, 0)->begin_ns;
        work->end_ns = work_of(slot, work, 0)->end_ns;
        for (int i = 1; i < g->n; i++) {
            work->begin_ns = min_i64(work->begin_ns, work_of(slot, work, i)->begin_ns);
            work->end_ns = max_i64(work->end_ns, work_of(slot, work, i)->end_ns);
        }
        slot->link.next = &g->free->link;
        g->free = slot;
        atomic_store(&work->state, state);
    }
    lock_put(g->lock);
    return state;
}

static void masks(void *self, struct compute_pass *pass)
{
    struct group *g = self;
    struct slot *slot = (struct slot *)pass->work.next;
    struct compute_device *rank = g->ranks[drawing_rank(g)];
    rank->masks(rank->self, &slot->passes[drawing_rank(g)]);
}

void group_fail(struct compute_device *device)
{
    struct group *g = device->self;
    compute_group_fail(&g->meeting);
}

/* ---- The device. ---- */

static void close_all(void *self)
{
    struct group *g = self;
    for (int i = 0; i < g->n; i++)
        g->ranks[i]->close(g->ranks[i]->self);
    for (int i = 0; i < g->n; i++)
        compute_group_rank_free(&g->ends[i]);
    compute_group_close(&g->meeting);
    while (g->free != NULL) {
        struct slot *slot = g->free;
        g->free = (struct slot *)slot->link.next;
        mem_give(slot);
    }
    lock_close(g->lock);
    mem_give(g);
}

static enum status check(struct compute_device *const *ranks, int n, struct fault *fault)
{
    if (n < 1 || n > COMPUTE_GROUP_RANKS_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "a group has 1 to %d devices, not %d",
                         COMPUTE_GROUP_RANKS_MAX, n);
    for (int i = 0; i < n; i++) {
        if (ranks[i]->memory_copy != NULL)
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "a group of %s is not supported, because its devices have memory of "
                             "their own: use CPUs",
                             ranks[i]->name);
        if (ranks[i]->arithmetic != ranks[0]->arithmetic || ranks[i]->n_lanes != 1)
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "the devices of a group have one arithmetic and one lane each, but "
                             "%s differs from %s",
                             ranks[i]->name, ranks[0]->name);
    }
    return STATUS_OK;
}

static void set_face(struct group *g)
{
    struct compute_device *first = g->ranks[0];
    g->lane.depth = first->lanes[0]->depth;
    for (int i = 0; i < g->n; i++)
        g->lane.n_members += g->ranks[i]->lanes[0]->n_members;
    snprintf(g->name, sizeof g->name, "%d %s %s", g->n, g->is_chain ? "in turn" : "x", first->name);
    g->face = (struct compute_device){
        .self = g,
        .name = g->name,
        .arithmetic = first->arithmetic,
        .n_ranks = g->is_chain ? 1 : g->n, /* one rank computes each sum of a chain */
        .has_row_classes = first->has_row_classes,
        .has_experts = first->has_experts,
        .has_vectors = first->has_vectors,
        .n_lanes = 1,
        .lanes = { &g->lane },
        .memory_open = memory_open,
        .memory_close = memory_close,
        .memory_back = memory_back,
        .memory_drop = memory_drop,
        .split = split,
        .packed_bytes = packed_bytes,
        .pack = pack,
        .bind = bind,
        .unbind = unbind,
        .workspace_bytes = workspace_bytes,
        .workspace_open = workspace_open,
        .workspace_close = workspace_close,
        .begin = begin,
        .poll = poll,
        .masks = masks,
        .close = close_all,
    };
}

static enum status open_any(struct compute_device *const *ranks, const struct group_chain *chain,
                            bool is_chain, struct compute_device **out, struct fault *fault)
{
    struct group *g = mem_take(sizeof *g);
    int n = chain->n_ranks;
    enum status status = check(ranks, n, fault);
    if (status == STATUS_OK)
        status = compute_group_open(&g->meeting, n, fault);
    if (status != STATUS_OK) {
        for (int i = 0; i < n; i++)
            ranks[i]->close(ranks[i]->self);
        mem_give(g);
        return status;
    }
    g->n = n;
    g->is_chain = is_chain;
    g->chain = *chain;
    g->lock = lock_open();
    for (int i = 0; i < n; i++) {
        g->ranks[i] = ranks[i];
        compute_group_rank_init(&g->ends[i], &g->meeting, i);
    }
    set_face(g);
    *out = &g->face;
    return STATUS_OK;
}

enum status group_open(struct compute_device *const *ranks, int n_ranks,
                       struct compute_device **out, struct fault *fault)
{
    const struct group_chain chain = { .n_ranks = n_ranks };
    return open_any(ranks, &chain, false, out, fault);
}

enum status group_open_chain(struct compute_device *const *ranks, const int32_t *shares,
                             int n_ranks, struct compute_device **out, struct fault *fault)
{
    struct group_chain chain = { .n_ranks = n_ranks };
    for (int i = 0; i < n_ranks && i < COMPUTE_GROUP_RANKS_MAX; i++)
        chain.shares[i] = shares[i];
    return open_any(ranks, &chain, true, out, fault);
}
