/* The faults of a simulated cluster. A seed has some kinds of them, and not the others, so that
 * each kind is also seen without the rest. Each fault is repaired after a while. */
#include "world.h"

#include "base/mem.h"
#include "base/time.h"
#include <stdio.h>
#include <unistd.h>

enum fault_kind {
    FAULT_KILL,      /* a process, which starts again */
    FAULT_PAUSE,     /* a process, as SIGSTOP does */
    FAULT_CUT,       /* one way between two processes */
    FAULT_PARTITION, /* some processes from the others */
    FAULT_CUT_STORE, /* a process from the store */
    FAULT_STOP_STORE,
    FAULT_ROLL_BACK, /* the store shows a snapshot again */
    FAULT_WIPE,      /* the store is emptied, and an operator adopts its new life */
    FAULT_COMPACT,   /* watches lose changes */
    FAULT_SLOW_WATCH,
    FAULT_WISH,      /* an operator wants something else */
    FAULT_FULL_DISK, /* a node can't remember managers */
    FAULT_KILL_MANY, /* most nodes at once */
    FAULTS,
};
static const int weights[FAULTS] = { 8, 5, 6, 3, 4, 2, 2, 1, 2, 2, 4, 2, 1 };

struct repair {
    int64_t at_ns;
    enum fault_kind kind;
    int a, b;
};
struct world_faults {
    struct rng rng;
    bool has[FAULTS];
    int64_t next_ns, mean_ns;
    bool is_saved;
    struct repair *repairs;
    uint32_t n_repairs, n_room;
    int64_t adopt_ns; /* an operator adopts the life that the store shows; 0: nothing to do */
};

static int below(struct world *w, int n)
{
    return (int)rng_below(&w->faults->rng, (uint32_t)n);
}

static int64_t within(struct world *w, int64_t min_ms, int64_t max_ms)
{
    return (min_ms + below(w, (int)(max_ms - min_ms))) * TIME_NS_PER_MS;
}

static void repair_later(struct world *w, struct repair repair)
{
    struct world_faults *f = w->faults;
    if (f->n_repairs == f->n_room) {
        uint32_t room = f->n_room > 0 ? 2 * f->n_room : 64;
        f->repairs =
            mem_grow(f->repairs, f->n_room * sizeof *f->repairs, room * sizeof *f->repairs);
        f->n_room = room;
    }
    f->repairs[f->n_repairs++] = repair;
}

/* ---- Processes. ---- */

static void kill_one(struct world *w, int i)
{
    struct world_process *p = &w->processes[i];
    bool is_silent = below(w, 3) == 0;
    if (!p->is_up)
        return;
    world_stop(w, i, is_silent);
    p->up_ns = w->now_ns + within(w, 100, below(w, 3) == 0 ? 15000 : 2000);
    bool loses_disk = p->kind == WORLD_NODE && below(w, 20) == 0;
    if (loses_disk) {
        (void)unlink(p->folder_file);
        p->may_differ = true;
    }
    w->count.n_restarts++;
    world_tell(w, "process %d is killed%s%s until %.3f", i, is_silent ? " silently" : "",
               loses_disk ? ", loses its disk," : "", (double)(p->up_ns - w->began_ns) * 1e-9);
}

static void kill_many(struct world *w)
{
    int first = w->options.n_managers + w->options.n_gateways;
    for (int i = first; i < w->n_processes; i++)
        if (below(w, 4) > 0)
            kill_one(w, i);
}

static void pause_one(struct world *w, int i)
{
    struct world_process *p = &w->processes[i];
    if (!p->is_up)
        return;
    p->paused_until_ns = w->now_ns + within(w, 200, 12000);
    wires_pause(w->wires, i, p->paused_until_ns);
    wires_wake(w->wires, i, p->paused_until_ns);
    world_tell(w, "process %d is paused until %.3f", i,
               (double)(p->paused_until_ns - w->began_ns) * 1e-9);
}

static void cut(struct world *w, int a, int b)
{
    if (a == b)
        return;
    wires_cut(w->wires, a, b, true);
    repair_later(w, (struct repair){ w->now_ns + within(w, 300, 15000), FAULT_CUT, a, b });
    world_tell(w, "no message gets from %d to %d", a, b);
}

static void part(struct world *w)
{
    int64_t at_ns = w->now_ns + within(w, 500, 12000);
    uint64_t side = rng_u64(&w->faults->rng);
    for (int a = 0; a < w->n_processes; a++)
        for (int b = 0; b < w->n_processes; b++) {
            if (((side >> (a % 64) ^ side >> (b % 64)) & 1) == 0)
                continue;
            wires_cut(w->wires, a, b, true);
            repair_later(w, (struct repair){ at_ns, FAULT_CUT, a, b });
        }
    world_tell(w, "the processes are in two parts (%llx)", (unsigned long long)side);
}

/* ---- The store. ---- */

static void cut_store(struct world *w, int i, bool is_cut)
{
    struct world_process *p = &w->processes[i];
    p->is_member_cut = is_cut;
    if (p->is_up)
        store_model_cut(p->store, is_cut);
}

static void roll_back(struct world *w)
{
    struct world_faults *f = w->faults;
    if (f->is_saved && below(w, 3) > 0) {
        store_model_restore(w->store);
        w->has_lost_history = true;
        f->adopt_ns = w->now_ns + within(w, 500, 6000); /* if it is of an earlier life */
        world_tell(w, "the store shows a snapshot again");
    } else {
        store_model_save(w->store);
        f->is_saved = true;
        world_tell(w, "a snapshot of the store is taken");
    }
}

/* `shoal cluster adopt`, for each node and manager. The first one names the life. */
static void adopt(struct world *w)
{
    const char *key = "/shoal/sim/nonce";
    char text[STORE_ID_TEXT];
    struct store_id nonce = { rng_u64(&w->faults->rng), rng_u64(&w->faults->rng) };
    struct view there = store_model_value(w->store, key);
    store_id_write(nonce, text);
    w->faults->adopt_ns = 0;
    if (there.at == NULL)
        store_model_put(w->store, key, text);
    else if (!store_id_read(there.at, there.n, &nonce))
        return;
    for (int i = 0; i < w->n_processes; i++) {
        struct world_process *p = &w->processes[i];
        struct store_fence fence;
        if (p->kind == WORLD_GATEWAY)
            continue;
        bool is_read = store_fence_open(&fence, p->folder_file, NULL) == STATUS_OK;
        p->may_differ = p->may_differ || !store_id_equal(fence.kept.nonce, nonce);
        if (!is_read || store_fence_adopt(&fence, nonce, NULL) != STATUS_OK)
            world_wrong(w, "process %d: its fence can't be adopted", i);
    }
    world_tell(w, "operators adopt the life of the store");
}

static void wish(struct world *w)
{
    char key[96];
    static const char *const copies[] = { "0", "1", "2", "3", "-1" };
    int s = below(w, WORLD_SERVICES), n = w->options.n_nodes;
    const struct world_process *node =
        &w->processes[w->options.n_managers + w->options.n_gateways + below(w, n)];
    const char *value = copies[below(w, 5)];
    switch (below(w, 3)) {
    case 0:
        snprintf(key, sizeof key, "/shoal/sim/desired/models/%s", w->services[s].name);
        break;
    case 1:
        snprintf(key, sizeof key, "/shoal/sim/desired/nodes/%s", node->address);
        value = below(w, 3) == 0 ? NULL : below(w, 2) == 0 ? "cordon" : "drain";
        break;
    default:
        snprintf(key, sizeof key, "/shoal/sim/desired/pins/%s", w->services[s].name);
        value = below(w, 2) == 0 ? NULL : node->address;
        break;
    }
    store_model_put(w->store, key, value);
    world_tell(w, "operators write %s: %s", key, value != NULL ? value : "(nothing)");
}

static void clear_wishes(struct world *w)
{
    char key[96];
    for (int s = 0; s < WORLD_SERVICES; s++) {
        snprintf(key, sizeof key, "/shoal/sim/desired/pins/%s", w->services[s].name);
        store_model_put(w->store, key, NULL);
        snprintf(key, sizeof key, "/shoal/sim/desired/models/%s", w->services[s].name);
        store_model_put(w->store, key, "1");
    }
    for (int i = 0; i < w->n_processes; i++) {
        snprintf(key, sizeof key, "/shoal/sim/desired/nodes/%s", w->processes[i].address);
        if (w->processes[i].kind == WORLD_NODE)
            store_model_put(w->store, key, NULL);
    }
}

/* ---- Disks. ---- */

static void fill_disk(struct world *w, int i, bool is_full)
{
    struct world_process *p = &w->processes[i];
    if (!p->is_up || p->kind == WORLD_GATEWAY)
        return;
    snprintf(p->fence.path, sizeof p->fence.path, "%s%s", p->folder_file,
             is_full ? "/no-room" : "");
    if (is_full)
        world_tell(w, "the disk of process %d is full", i);
}

/* ---- Time. ---- */

static void harm(struct world *w, enum fault_kind kind)
{
    int i = below(w, w->n_processes);
    int64_t until_ns = w->now_ns + within(w, 500, 12000);
    w->count.n_faults++;
    switch (kind) {
    case FAULT_KILL:
        kill_one(w, i);
        break;
    case FAULT_PAUSE:
        pause_one(w, i);
        break;
    case FAULT_CUT:
        cut(w, i, below(w, w->n_processes));
        break;
    case FAULT_PARTITION:
        part(w);
        break;
    case FAULT_CUT_STORE:
        cut_store(w, i, true);
        repair_later(w, (struct repair){ until_ns, kind, i, 0 });
        world_tell(w, "process %d can't reach the store", i);
        break;
    case FAULT_STOP_STORE:
        store_model_stop(w->store);
        repair_later(w, (struct repair){ until_ns, kind, 0, 0 });
        world_tell(w, "the store is gone");
        break;
    case FAULT_ROLL_BACK:
        roll_back(w);
        break;
    case FAULT_WIPE:
        store_model_wipe(w->store);
        w->has_lost_history = true;
        w->faults->adopt_ns = w->now_ns + within(w, 500, 8000);
        world_tell(w, "the store is emptied");
        break;
    case FAULT_COMPACT:
        store_model_compact(w->store);
        world_tell(w, "watches lose changes");
        break;
    case FAULT_SLOW_WATCH:
        if (w->processes[i].is_up)
            store_model_slow(w->processes[i].store, within(w, 100, 8000));
        world_tell(w, "process %d learns late of changes", i);
        break;
    case FAULT_WISH:
        wish(w);
        break;
    case FAULT_FULL_DISK:
        fill_disk(w, i, true);
        repair_later(w, (struct repair){ until_ns, kind, i, 0 });
        break;
    default:
        kill_many(w);
        break;
    }
}

static void repair(struct world *w, const struct repair *r)
{
    switch (r->kind) {
    case FAULT_CUT:
        wires_cut(w->wires, r->a, r->b, false);
        break;
    case FAULT_CUT_STORE:
        cut_store(w, r->a, false);
        break;
    case FAULT_STOP_STORE:
        store_model_start(w->store);
        break;
    default:
        fill_disk(w, r->a, false);
        break;
    }
    world_tell(w, "repaired: %s %d %d",
               r->kind == FAULT_CUT         ? "the way"
               : r->kind == FAULT_CUT_STORE ? "the store of"
                                            : "other",
               r->a, r->b);
}

static enum fault_kind draw(struct world *w)
{
    int sum = 0, k = 0;
    for (int i = 0; i < FAULTS; i++)
        sum += w->faults->has[i] ? weights[i] : 0;
    int at = below(w, sum);
    for (; !w->faults->has[k] || at >= weights[k]; k++)
        at -= w->faults->has[k] ? weights[k] : 0;
    return (enum fault_kind)k;
}

static void draw_next(struct world *w)
{
    w->faults->next_ns =
        w->now_ns + 1 + (int64_t)(rng_exponential(&w->faults->rng) * (double)w->faults->mean_ns);
}

int64_t world_faults_next_ns(const struct world *w)
{
    const struct world_faults *f = w->faults;
    int64_t next_ns = f->next_ns;
    for (uint32_t i = 0; i < f->n_repairs; i++)
        next_ns = min_i64(next_ns, f->repairs[i].at_ns);
    return f->adopt_ns > 0 ? min_i64(next_ns, f->adopt_ns) : next_ns;
}

void world_faults_step(struct world *w)
{
    struct world_faults *f = w->faults;
    for (uint32_t i = 0; i < f->n_repairs; i++) {
        const struct repair due = f->repairs[i];
        if (due.at_ns > w->now_ns)
            continue;
        f->repairs[i--] = f->repairs[--f->n_repairs];
        repair(w, &due);
    }
    if (f->adopt_ns > 0 && f->adopt_ns <= w->now_ns)
        adopt(w);
    if (f->next_ns > w->now_ns)
        return;
    harm(w, draw(w));
    draw_next(w);
}

void world_faults_heal(struct world *w)
{
    struct world_faults *f = w->faults;
    world_tell(w, "all is repaired from here on");
    w->is_healed = true;
    f->next_ns = TIME_NEVER;
    for (uint32_t i = 0; i < f->n_repairs; i++)
        repair(w, &f->repairs[i]);
    f->n_repairs = 0;
    wires_heal(w->wires);
    store_model_lose(w->store, 0);
    for (int i = 0; i < w->n_processes; i++) {
        struct world_process *p = &w->processes[i];
        cut_store(w, i, false);
        p->host.is_over = true;
        if (p->is_up)
            store_model_slow(p->store, 0);
        else
            p->up_ns = w->now_ns;
        p->paused_until_ns = 0;
        wires_pause(w->wires, i, 0);
        wires_make_runnable(w->wires, i);
    }
    clear_wishes(w);
    if (w->has_lost_history)
        adopt(w);
}

void world_faults_open(struct world *w)
{
    struct world_faults *f = w->faults = mem_take(sizeof *f);
    rng_init(&f->rng, w->options.seed, 22);
    f->next_ns = TIME_NEVER;
    if (w->options.is_still)
        return;
    uint64_t chosen = rng_u64(&f->rng) | (UINT64_C(1) << rng_below(&f->rng, FAULTS));
    for (int i = 0; i < FAULTS; i++)
        f->has[i] = (chosen >> i & 1) != 0;
    f->mean_ns = within(w, 300, 3000);
    f->next_ns = w->now_ns + within(w, 200, 8000);
}

void world_faults_close(struct world *w)
{
    mem_give(w->faults->repairs);
    mem_give(w->faults);
}
