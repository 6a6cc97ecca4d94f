/* Measures a leading manager in a large simulated cluster without faults. */
#include "world_size.h"

#include "base/mem.h"
#include "base/time.h"
#include "world.h"
#include <stdio.h>

enum { COPIES = 16 }; /* of the models that do not come to every engine */
static const int64_t START_NS_MAX = 120 * TIME_NS_PER_S;
static const char *const kinds[MESSAGE_N] = {
    "SUBMIT", "CANCEL", "EVENT",  "REPORT", "CHANGE", "LOAD",   "UNLOAD",
    "OUST",   "SLEEP",  "DRAIN",  "WANT",   "SPACE",  "ASK",    "ANSWER",
    "OPEN",   "BEAT",   "CLOSED", "LEAD",   "FENCE",  "DEMAND", "RESEND",
};

struct sums {
    uint64_t cpu_ns[3], cpu_ns_max; /* by kind of process; of the leading manager */
    struct wires_count sent[3];
};

static void add_up(const struct world *w, struct sums *sums)
{
    *sums = (struct sums){ 0 };
    for (int i = 0; i < w->n_processes; i++) {
        const struct world_process *p = &w->processes[i];
        const struct wires_count *count = wires_counts(w->wires, i);
        sums->cpu_ns[p->kind] += p->cpu_ns;
        if (p->elected != NULL && cluster_elected_manager(p->elected) != NULL)
            sums->cpu_ns_max = p->cpu_ns;
        for (int k = 0; k < MESSAGE_N; k++) {
            sums->sent[p->kind].n[k] += count->n[k];
            sums->sent[p->kind].n_bytes[k] += count->n_bytes[k];
        }
    }
}

static void print(const struct world *w, const struct sums *from, const struct sums *to, double s)
{
    static const char *const senders[] = { "managers", "gateways", "nodes" };
    const struct world_options *o = &w->options;
    printf("%d nodes, %d gateways, %.0f s of cluster time:\n", o->n_nodes, o->n_gateways, s);
    printf("  leading manager: %.1f ms of CPU time a second; a gateway: %.1f ms; a node: %.2f ms\n",
           (double)(to->cpu_ns_max - from->cpu_ns_max) * 1e-6 / s,
           (double)(to->cpu_ns[WORLD_GATEWAY] - from->cpu_ns[WORLD_GATEWAY]) * 1e-6 / s /
               o->n_gateways,
           (double)(to->cpu_ns[WORLD_NODE] - from->cpu_ns[WORLD_NODE]) * 1e-6 / s / o->n_nodes);
    for (int kind = 0; kind < 3; kind++)
        for (int k = 0; k < MESSAGE_N; k++) {
            int64_t n = to->sent[kind].n[k] - from->sent[kind].n[k];
            int64_t n_bytes = to->sent[kind].n_bytes[k] - from->sent[kind].n_bytes[k];
            if (n > 0)
                printf("  %-8s %-7s %10.1f messages/s %12.1f KiB/s\n", senders[kind], kinds[k],
                       (double)n / s, (double)n_bytes / 1024 / s);
        }
}

int world_size(int n_nodes, int n_gateways, int seconds)
{
    const struct world_options options = { .seed = 1,
                                           .n_managers = 1,
                                           .n_gateways = n_gateways,
                                           .n_nodes = n_nodes,
                                           .n_engines = 1,
                                           .report_ns = 100 * TIME_NS_PER_MS,
                                           .delay_ns = TIME_NS_PER_MS,
                                           .rate_per_s = 10,
                                           .is_still = true };
    base_verify = false; /* as the program runs */
    struct sums *sums = mem_take(2 * sizeof *sums);
    struct world *w = world_open(&options);
    const char *missing = "";
    int64_t begun_ns = time_now_ns();
    for (int s = 0; s < WORLD_SERVICES; s++) {
        char key[96], copies[12];
        snprintf(key, sizeof key, "/shoal/sim/desired/models/%s", w->services[s].name);
        snprintf(copies, sizeof copies, "%d", s == 0 ? 1 : COPIES);
        store_model_put(w->store, key, copies);
    }
    while (w->wrong[0] == '\0' && missing != NULL && w->now_ns < w->began_ns + START_NS_MAX) {
        world_run(w, w->now_ns + TIME_NS_PER_S);
        missing = world_checks_progress(w, 0);
    }
    add_up(w, &sums[0]);
    if (missing == NULL) {
        printf(
            "it is well after %.0f s of cluster time, in which the leading manager took %.2f s of "
            "CPU time\n",
            (double)(w->now_ns - w->began_ns) * 1e-9, (double)sums[0].cpu_ns_max * 1e-9);
        world_run(w, w->now_ns + seconds * TIME_NS_PER_S);
        add_up(w, &sums[1]);
        print(w, &sums[0], &sums[1], seconds);
        printf("simulated in %.0f s\n", (double)(time_now_ns() - begun_ns) * 1e-9);
    } else {
        printf("%d nodes, %d gateways: %s\n", n_nodes, n_gateways, missing);
    }
    bool is_well = missing == NULL && w->wrong[0] == '\0';
    world_close(w);
    mem_give(sums);
    return is_well ? 0 : 1;
}
