/* A simulated cluster's time: which process runs when. */
#include "world.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "models.h"
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS_MAX = 20000 };
static const char *const model_names[WORLD_SERVICES] = { "tale", "chat", "code" };
const struct world_planted world_planted[PLANTS] = {
    [PLANT_NOTHING] = { "nothing", "" },
    [PLANT_ENDED_TWICE] = { "ended-twice", "after its end" },
    [PLANT_TOKEN_LOST] = { "token-lost", "gets position" },
    [PLANT_TOKEN_OTHER] = { "token-other", "gets another token" },
    [PLANT_OLD_EPOCH] = { "old-epoch", "obeys epoch" },
    [PLANT_OTHER_MANAGER] = { "other-manager", "and obeys epoch" },
    [PLANT_TWO_ACT] = { "two-act", "managers may act at once" },
    [PLANT_LEAK] = { "leak", "that nothing waits for" },
    [PLANT_FILE] = { "file", "files instead of" },
    [PLANT_LEASE] = { "lease", "leases for" },
    [PLANT_NO_LOAD] = { "no-load", "is not loaded" },
};

void world_wrong(struct world *w, const char *fmt, ...)
{
    va_list args;
    if (w->wrong[0] != '\0')
        return;
    va_start(args, fmt);
    vsnprintf(w->wrong, sizeof w->wrong, fmt, args);
    va_end(args);
    world_tell(w, "WRONG: %s", w->wrong);
    world_checks_tell(w);
}

void world_tell(const struct world *w, const char *fmt, ...)
{
    va_list args;
    if (!w->options.is_told)
        return;
    printf("%9.3f  ", (double)(w->now_ns - w->began_ns) * 1e-9);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
}

/* ---- Opening. ---- */

static void open_services(struct world *w)
{
    for (int s = 0; s < WORLD_SERVICES; s++) {
        struct service_spec *spec = &w->services[s];
        snprintf(spec->name, sizeof spec->name, "%s", model_names[s]);
        spec->identity = (uint64_t)s + 1;
        spec->slo = w->options.slo;
        spec->keep_alive_ns = s == 2 ? 20 * TIME_NS_PER_S : INT64_C(1) << 60;
        spec->is_loaded_at_start = s == 0;
        spec->n_held_max = 1000;
        spec->hold_ns_max = 60 * TIME_NS_PER_S;
        w->sim_services[s] = (struct sim_service){ .name = model_names[s],
                                                   .perf = small_model,
                                                   .size = { .weights_bytes = 3000000,
                                                             .activation_bytes = 100000,
                                                             .kv_bytes_per_token = 2000 } };
        w->sim_services[s].perf.c3_ps[0] *= 10; /* a step takes about 60 ms */
        w->sim_services[s].perf.c3_ps[1] *= 10;
        for (int r = 0; r < 2 && w->options.row_ps > 0; r++)
            w->sim_services[s].perf.c2_ps[r] = w->options.row_ps;
        w->need_bytes[s] = 3100000;
    }
}

static void open_folder(struct world *w)
{
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(w->folder, sizeof w->folder, "%s/shoal-world-XXXXXX", parent);
    CHECK(mkdtemp(w->folder) != NULL);
}

static void close_folder(struct world *w)
{
    char path[512];
    DIR *folder = opendir(w->folder);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", w->folder, entry->d_name);
        if (entry->d_name[0] != '.')
            (void)unlink(path);
    }
    if (folder != NULL)
        closedir(folder);
    (void)rmdir(w->folder);
}

static void open_processes(struct world *w)
{
    const struct world_options *o = &w->options;
    for (int i = 0; i < w->n_processes; i++) {
        struct world_process *p = &w->processes[i];
        p->world = w;
        p->index = i;
        p->kind = i < o->n_managers                   ? WORLD_MANAGER
                  : i < o->n_managers + o->n_gateways ? WORLD_GATEWAY
                                                      : WORLD_NODE;
        snprintf(p->address, sizeof p->address, "node-%d:7601", i);
        snprintf(p->folder_file, sizeof p->folder_file, "%s/%d", w->folder, i);
        p->offset_ns = (int64_t)rng_below(&w->rng, 1000) * TIME_NS_PER_S;
        p->up_ns = w->now_ns + 1 + (int64_t)rng_below(&w->rng, 500) * TIME_NS_PER_MS;
    }
}

struct world *world_open(const struct world_options *options)
{
    struct world *w = mem_take(sizeof *w);
    const struct store_model_options store = { .seed = options->seed,
                                               .delay_ns =
                                                   options->is_still ? 0 : 4 * TIME_NS_PER_MS,
                                               .loss = options->store_loss };
    w->options = *options;
    rng_init(&w->rng, options->seed, 20);
    w->now_ns = w->began_ns = 1000 * TIME_NS_PER_S;
    w->n_processes = options->n_managers + options->n_gateways + options->n_nodes;
    CHECK(w->n_processes <= WORLD_PROCESSES_MAX);
    w->processes = mem_take(sizeof *w->processes * (size_t)w->n_processes);
    w->store = store_model_open(&store);
    (void)store_model_step(w->store, w->now_ns);
    w->wires = wires_open(&(struct wires_options){ .n_processes = w->n_processes,
                                                   .seed = options->seed,
                                                   .delay_ns = options->delay_ns,
                                                   .loss = options->loss,
                                                   .out_bytes = 256 << 10,
                                                   .hides_others = options->hides_others });
    wires_step(w->wires, w->now_ns);
    w->body = mem_take(request_body_bytes(LIMIT_NAME_BYTES * 16, 0, 0));
    open_folder(w);
    open_services(w);
    open_processes(w);
    world_faults_open(w);
    return w;
}

void world_close(struct world *w)
{
    for (int i = 0; i < w->n_processes; i++)
        if (w->processes[i].is_up)
            world_stop(w, i, true);
    world_faults_close(w);
    wires_close(w->wires);
    store_model_close(w->store);
    close_folder(w);
    mem_give(w->processes);
    mem_give(w->requests);
    mem_give(w->body);
    mem_give(w);
}

void world_start(struct world *w, int i)
{
    struct world_process *p = &w->processes[i];
    p->up_ns = 0;
    p->is_up = true;
    p->paused_until_ns = 0;
    p->n_lives++;
    wires_start(w->wires, i, p->kind == WORLD_NODE ? 0 : w->options.n_nodes,
                (uint64_t)i << 32 | p->n_lives);
    p->store = store_model_client(w->store);
    store_model_cut(p->store, p->is_member_cut);
    world_process_start(p);
    wires_make_runnable(w->wires, i);
}

void world_stop(struct world *w, int i, bool is_silent)
{
    struct world_process *p = &w->processes[i];
    if (p->kind == WORLD_GATEWAY)
        world_clients_lose(p);
    /* A process that is killed says nothing any more. */
    wires_stop(w->wires, i, is_silent);
    world_process_stop(p);
    p->store->close(p->store->self);
    p->is_up = false;
}

/* ---- Time. ---- */

static void step_process(struct world *w, int i)
{
    struct world_process *p = &w->processes[i];
    if (!p->is_up)
        return;
    if (p->paused_until_ns > w->now_ns) {
        wires_wake(w->wires, i, p->paused_until_ns);
        return;
    }
    int64_t wake_ns = world_process_step(p);
    if (wake_ns <= w->now_ns)
        wires_make_runnable(w->wires, i);
    else if (wake_ns != TIME_NEVER)
        wires_wake(w->wires, i, wake_ns);
}

static void step_store(struct world *w)
{
    if (store_model_due_ns(w->store) > w->now_ns)
        return;
    (void)store_model_step(w->store, w->now_ns);
    for (int i = 0; i < w->n_processes; i++)
        if (w->processes[i].is_up && store_model_has_news(w->processes[i].store))
            wires_make_runnable(w->wires, i);
}

static void settle(struct world *w)
{
    int n_rounds = 0;
    for (int i; w->wrong[0] == '\0' && (i = wires_take_runnable(w->wires)) >= 0; n_rounds++) {
        step_process(w, i);
        if (n_rounds == ROUNDS_MAX * w->n_processes)
            world_wrong(w, "process %d does not come to rest", i);
    }
}

/* Returns when something happens that is no message. */
static int64_t next_of_processes(const struct world *w)
{
    int64_t next_ns = world_faults_next_ns(w);
    for (int i = 0; i < w->n_processes; i++) {
        const struct world_process *p = &w->processes[i];
        if (p->kind == WORLD_GATEWAY && p->is_up && !w->asks_nothing)
            next_ns = min_i64(next_ns, p->next_ask_ns);
        if (!p->is_up && p->up_ns > 0)
            next_ns = min_i64(next_ns, p->up_ns);
    }
    return next_ns;
}

static void step_processes(struct world *w)
{
    for (int i = 0; i < w->n_processes; i++) {
        struct world_process *p = &w->processes[i];
        if (!p->is_up && p->up_ns > 0 && p->up_ns <= w->now_ns)
            world_start(w, i);
        if (p->kind == WORLD_GATEWAY && p->is_up && !w->asks_nothing && p->next_ask_ns <= w->now_ns)
            world_clients_ask(p);
    }
}

void world_run(struct world *w, int64_t until_ns)
{
    int64_t next_ns = next_of_processes(w);
    while (w->wrong[0] == '\0') {
        int64_t at_ns =
            min_i64(next_ns, min_i64(wires_next_ns(w->wires), store_model_due_ns(w->store)));
        if (at_ns > until_ns)
            break;
        w->now_ns = max_i64(w->now_ns, at_ns);
        wires_step(w->wires, w->now_ns);
        if (next_ns <= w->now_ns) {
            world_faults_step(w);
            step_processes(w);
            next_ns = next_of_processes(w);
        }
        step_store(w);
        settle(w);
        world_checks_managers(w);
    }
    w->now_ns = max_i64(w->now_ns, until_ns);
}
