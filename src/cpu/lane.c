/* The thread of a lane, which runs work in the order in which it was begun. The whole team runs a
 * pass and its draws. */
#include "cpu/lane.h"

#include "base/mem.h"
#include "base/time.h"
#include "compute/host.h"
#include "cpu/pass.h"
#include <stdio.h>
#include <string.h>

/* ---- Workspaces: first the parts of cpu_pass_layout, then logits. ---- */

static size_t logits_at(const struct cpu_lane *lane, const struct compute_program *program,
                        struct compute_sizes sizes)
{
    struct cpu_layout layout;
    cpu_pass_layout(program, lane->face.n_members, sizes.n_rows, sizes.n_logit_rows, lane->kernels,
                    &layout);
    return layout.n_bytes;
}

static int64_t memory_bytes(const struct cpu_lane *lane, const struct compute_program *program,
                            struct compute_sizes sizes)
{
    int64_t n_logits = program->rank == NULL ? sizes.n_logit_rows : 0; /* the ranks share theirs */
    return (int64_t)logits_at(lane, program, sizes) +
           (int64_t)sizeof(float) * n_logits * program->n_vocabulary;
}

static struct compute_drawer_sizes drawer_sizes(const struct cpu_lane *lane,
                                                const struct compute_program *program,
                                                struct compute_sizes sizes)
{
    return (struct compute_drawer_sizes){ lane->face.n_members, sizes.n_rows, sizes.n_logit_rows,
                                          program->n_vocabulary, program->rank };
}

int64_t cpu_lane_workspace_bytes(const struct cpu_lane *lane, const struct compute_program *program,
                                 struct compute_sizes sizes)
{
    return memory_bytes(lane, program, sizes) +
           compute_drawer_bytes(drawer_sizes(lane, program, sizes));
}

enum status cpu_lane_workspace_open(struct cpu_lane *lane, const struct compute_program *program,
                                    struct compute_sizes sizes, struct cpu_workspace **out,
                                    struct fault *fault)
{
    const struct compute_memory_options options = { .n_bytes = memory_bytes(lane, program, sizes) };
    struct compute_memory *memory;
    enum status status =
        compute_shapes_check(&program->shapes, lane->kernels->name,
                             (struct compute_shapes_known){ true, true, true }, fault);
    if (status == STATUS_OK)
        status = compute_host_open(NULL, &options, &memory, fault);
    if (status != STATUS_OK)
        return status;
    struct cpu_workspace *w = mem_take(sizeof(*w));
    w->face = (struct compute_workspace){ memory, sizes };
    w->lane = lane;
    w->at_logits = logits_at(lane, program, sizes);
    compute_drawer_open(&w->drawer, lane->kernels->draw, drawer_sizes(lane, program, sizes));
    *out = w;
    return STATUS_OK;
}

void cpu_lane_workspace_close(struct cpu_workspace *w)
{
    if (w == NULL)
        return;
    compute_drawer_close(&w->drawer);
    compute_host_close(NULL, w->face.memory);
    mem_give(w);
}

/* ---- A pass. ---- */

struct drawing {
    struct compute_drawer *drawer;
    const struct compute_pass *pass;
    float *logits;
    _Atomic int32_t next; /* row */
};

static void draw_rows(void *arg, int rank, int n)
{
    struct drawing *d = arg;
    int n_samplers = d->drawer->n_samplers;
    while (rank < n_samplers) {
        int32_t row = atomic_fetch_add_explicit(&d->next, 1, memory_order_relaxed);
        if (row >= d->pass->n_logit_rows)
            return;
        compute_drawer_row(d->drawer, rank, d->pass, row, row + min_i32(n, n_samplers),
                           d->logits); /* other members take the rows between */
    }
}

static void wait_for_masks(struct cpu_lane *lane, const struct compute_pass *given)
{
    while (given->has_late_masks && !atomic_load(&given->has_masks)) {
        (void)wake_wait(&lane->wake, -1);
        wake_clear(&lane->wake);
    }
}

static void draw(struct cpu_lane *lane, struct cpu_workspace *w, const struct compute_pass *pass,
                 float *logits)
{
    struct drawing drawing = { .drawer = &w->drawer, .pass = pass, .logits = logits };
    if (pass->n_logit_rows > 1)
        team_run(lane->team, draw_rows, &drawing);
    else
        draw_rows(&drawing, 0, 1);
}

/* Lanes on the same cores take turns. */
static void take_turn(struct cpu_lane *lane)
{
    lock_take(lane->turn);
    for (int i = 0; i < *lane->n_others; i++)
        lock_take(lane->others[i]->turn);
}

static void end_turn(struct cpu_lane *lane)
{
    for (int i = *lane->n_others - 1; i >= 0; i--)
        lock_put(lane->others[i]->turn);
    lock_put(lane->turn);
}

static enum compute_state run_pass(struct cpu_lane *lane, const struct compute_pass *given)
{
    struct cpu_workspace *w = (struct cpu_workspace *)given->workspace;
    struct compute_pass pass = *given;
    struct cpu_pass p = { .kernels = lane->kernels,
                          .program = pass.program,
                          .pass = &pass,
                          .team = lane->team,
                          .workspace = w->face.memory->base,
                          .logits = pass.logits };
    if (!compute_shapes_are_plain(&pass.shapes))
        return COMPUTE_FAILED;
    CHECK(w->lane == lane && pass.n_rows <= w->face.sizes.n_rows &&
          pass.n_logit_rows <= w->face.sizes.n_logit_rows);
    if (p.logits == NULL)
        p.logits = (float *)(void *)(p.workspace + w->at_logits);
    pass.ids = compute_drawer_ids(&w->drawer, given);
    if (pass.ids == NULL)
        return COMPUTE_LOST;
    pass.kv.base = pass.kv.memory != NULL ? pass.kv.memory->base : NULL;
    cpu_pass_layout(pass.program, lane->face.n_members, pass.n_rows, pass.n_logit_rows,
                    lane->kernels, &p.layout);
    memset(p.workspace + p.layout.counters, 0,
           p.layout.n_counters * sizeof(int32_t) * (size_t)lane->face.n_members);
    cpu_attention_reset(&p);
    take_turn(lane);
    if (pass.n_rows > 0)
        team_run(lane->team, cpu_pass_work, &p);
    end_turn(lane);
    if (atomic_load(&p.is_lost) || !compute_drawer_meet(&w->drawer, &pass))
        return COMPUTE_LOST;
    if (pass.asks == NULL || !compute_draws(pass.program))
        return COMPUTE_DONE;
    wait_for_masks(lane, given);
    take_turn(lane);
    draw(lane, w, &pass, p.logits);
    end_turn(lane);
    compute_drawer_end(&w->drawer, &pass);
    return COMPUTE_DONE;
}

/* ---- The queue. ---- */

static void run(struct cpu_lane *lane, struct compute_work *work)
{
    void (*notify)(void *arg) = work->notify;
    void *arg = work->notify_arg;
    enum compute_state state = COMPUTE_DONE;
    work->begin_ns = time_now_ns();
    if (work->kind == COMPUTE_WORK_PASS)
        state = run_pass(lane, (const struct compute_pass *)(const void *)work);
    else
        state = compute_host_copy((const struct compute_copy *)(const void *)work);
    do /* A sleep would give up the core, and end late. */
        work->end_ns = time_now_ns();
    while (work->end_ns - work->begin_ns < work->ns_least);
    atomic_store(&work->state, state); /* from here on the caller owns it */
    if (notify != NULL)
        notify(arg);
}

static struct compute_work *take_first(struct cpu_lane *lane)
{
    lock_take(lane->lock);
    struct compute_work *work = lane->first;
    if (work != NULL)
        lane->first = work->next;
    lock_put(lane->lock);
    return work;
}

static void lane_thread(void *arg)
{
    struct cpu_lane *lane = arg;
    while (!atomic_load(&lane->is_closing)) {
        struct compute_work *work = take_first(lane);
        if (work != NULL) {
            run(lane, work);
            continue;
        }
        (void)wake_wait(&lane->wake, -1);
        wake_clear(&lane->wake);
    }
}

void cpu_lane_begin(struct cpu_lane *lane, struct compute_work *work)
{
    work->next = NULL;
    if (work->kind == COMPUTE_WORK_PASS)
        atomic_store(&((struct compute_pass *)(void *)work)->has_masks, false);
    atomic_store(&work->state, COMPUTE_BEGUN);
    lock_take(lane->lock);
    if (lane->first == NULL)
        lane->first = work;
    else
        lane->last->next = work;
    lane->last = work;
    lock_put(lane->lock);
    wake_up(&lane->wake);
}

void cpu_lane_open(struct cpu_lane *lane, const struct cpu_lane_options *o)
{
    char name[16];
    *lane = (struct cpu_lane){ .kernels = o->kernels,
                               .others = o->others,
                               .n_others = o->n_others,
                               .team = team_open(o->cores->n_cores, o->cores->cores, true),
                               .turn = lock_open(),
                               .lock = lock_open() };
    team_let_shrink(lane->team); /* sums do not depend on the number of members */
    lane->face = (struct compute_lane){ team_size(lane->team), 2 };
    wake_open(&lane->wake);
    snprintf(name, sizeof name, "lane-%d", o->index % 1000);
    lane->thread = thread_start(name, lane_thread, lane);
}

void cpu_lane_close(struct cpu_lane *lane)
{
    atomic_store(&lane->is_closing, true);
    wake_up(&lane->wake);
    thread_join(lane->thread);
    wake_close(&lane->wake);
    team_close(lane->team);
    lock_close(lane->turn);
    lock_close(lane->lock);
}
