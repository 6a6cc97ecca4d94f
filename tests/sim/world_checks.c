/* The invariants of a simulated cluster, always and at the end. */
#include "world.h"

#include "base/time.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* ---- One manager is obeyed. ---- */

static bool is_same(const struct store_stamp *a, const struct store_stamp *b)
{
    return a->epoch == b->epoch && store_id_equal(a->nonce, b->nonce) &&
           store_id_equal(a->manager, b->manager);
}

/* A node obeys no older epoch, no other manager of the same one, and no other life of the cluster
 * that no operator adopted. */
void world_checks_node(struct world_process *p)
{
    struct world *w = p->world;
    struct store_stamp *seen = &p->obeyed;
    if (w->options.plant == PLANT_OLD_EPOCH && w->now_ns > w->began_ns + 12 * TIME_NS_PER_S &&
        !w->is_planted) {
        p->fence.kept.epoch--;
        w->is_planted = true;
    }
    const struct store_stamp *kept = &p->fence.kept;
    if (is_same(seen, kept))
        return;
    bool is_same_life = store_id_equal(seen->nonce, kept->nonce);
    if (p->may_differ || store_id_is_none(seen->nonce))
        p->may_differ = p->may_differ && is_same_life && kept->epoch >= seen->epoch;
    else if (!is_same_life)
        world_wrong(w, "node %d obeys another life, which no operator adopted", p->index);
    else if (kept->epoch < seen->epoch)
        world_wrong(w, "node %d obeys epoch %llu after %llu", p->index,
                    (unsigned long long)kept->epoch, (unsigned long long)seen->epoch);
    else if (kept->epoch == seen->epoch)
        world_wrong(w, "node %d obeys two managers of epoch %llu", p->index,
                    (unsigned long long)kept->epoch);
    w->count.n_terms++;
    *seen = *kept;
}

/* An order counts only if it comes from the manager that the node's disk names. */
void world_checks_order(struct world_process *p, const char *what)
{
    struct world *w = p->world;
    struct store_fence disk;
    int from = -1;
    uint64_t life = 0;
    uint32_t epoch = 0;
    const struct store_stamp *kept = &p->fence.kept;
    enum message_kind kind = wires_shown(w->wires, p->index, &from, &life, &epoch);
    if (w->options.plant == PLANT_OTHER_MANAGER && w->count.n_orders > 5) {
        life++;
        w->is_planted = true;
    }
    w->count.n_orders++;
    const struct store_id id = { 0x1d, life };
    if (kind == MESSAGE_N || w->processes[from].kind != WORLD_MANAGER)
        world_wrong(w, "node %d carries out a %s that no manager sent", p->index, what);
    else if (!store_id_equal(id, kept->manager) || epoch != (uint32_t)kept->epoch)
        world_wrong(w, "node %d carries out a %s of epoch %u and obeys epoch %llu", p->index, what,
                    epoch, (unsigned long long)kept->epoch);
    else if (store_fence_open(&disk, p->folder_file, NULL) != STATUS_OK ||
             (!is_same(&disk.kept, kept) && !p->may_differ))
        world_wrong(w, "node %d carries out a %s of a manager that its disk does not have",
                    p->index, what);
}

static bool acts(const struct world_process *p)
{
    int64_t local_ns = p->world->now_ns + p->offset_ns;
    return p->is_up && p->paused_until_ns <= p->world->now_ns && p->elected != NULL &&
           store_leader_may_act(cluster_elected_candidate(p->elected), local_ns);
}

void world_checks_managers(struct world *w)
{
    int n = 0;
    for (int i = 0; i < w->options.n_managers; i++)
        n += acts(&w->processes[i]);
    if (w->options.plant == PLANT_TWO_ACT && n == 1 && w->count.n_tokens > 50) {
        n++;
        w->is_planted = true;
    }
    if (n > 1 && !w->has_lost_history)
        world_wrong(w, "%d managers may act at once", n);
}

/* ---- Progress. ---- */

static const struct world_process *leader_of(const struct world *w)
{
    const struct world_process *leader = NULL;
    for (int i = 0; i < w->options.n_managers; i++)
        if (acts(&w->processes[i])) {
            if (leader != NULL)
                return NULL;
            leader = &w->processes[i];
        }
    return leader;
}

static bool is_loaded(const struct world *w, int service)
{
    for (int i = 0; i < w->n_processes; i++) {
        const struct world_process *p = &w->processes[i];
        for (int e = 0; p->node != NULL && e < w->options.n_engines; e++) {
            const struct cluster_engine *face = &p->engines[e].face;
            if (face->report(face->self)->services[service].status == SERVICE_LOADED)
                return true;
        }
    }
    return false;
}

const char *world_checks_progress(struct world *w, int64_t since_ns)
{
    const struct world_process *leader = leader_of(w);
    for (int i = 0; i < w->n_processes; i++)
        if (!w->processes[i].is_up)
            return "not all processes run";
    if (leader == NULL)
        return "no manager leads, or more than one does";
    if (cluster_elected_is_still(leader->elected))
        return "the leading manager changes nothing";
    const struct store_stamp stamp = store_leader_stamp(cluster_elected_candidate(leader->elected));
    for (int i = 0; i < w->n_processes; i++)
        if (w->processes[i].node != NULL && !is_same(&w->processes[i].fence.kept, &stamp))
            return "a node does not obey the leading manager";
    for (int s = 0; s < WORLD_SERVICES; s++)
        if (!is_loaded(w, s))
            return "a model that operators want is not loaded";
    for (uint32_t i = 0; i < w->n_requests; i++)
        if (w->requests[i].is_open && w->requests[i].arrived_ns < since_ns)
            return "a request has not ended";
    return NULL;
}

static void tell_engine(const struct world *w, const struct world_process *p, int e)
{
    const struct cluster_engine *face = &p->engines[e].face;
    const struct engine_report *report = face->report(face->self);
    struct str out;
    str_init(&out);
    for (int s = 0; s < WORLD_SERVICES; s++)
        str_printf(&out, " %s %s (%d waiting, %d running)", w->services[s].name,
                   service_status_name((enum service_status)report->services[s].status),
                   report->services[s].n_waiting, report->services[s].n_running);
    world_tell(w, "  engine %d:%s", e, out.at);
    str_free(&out);
}

void world_checks_tell(const struct world *w)
{
    for (int i = 0; i < w->n_processes; i++) {
        const struct world_process *p = &w->processes[i];
        world_tell(w, "process %d %s: %d connections, obeys epoch %llu%s", i,
                   p->kind == WORLD_MANAGER   ? "manager"
                   : p->kind == WORLD_GATEWAY ? "gateway"
                                              : "node",
                   wires_n_up(w->wires, i), (unsigned long long)p->fence.kept.epoch,
                   acts(p) ? ", may act" : "");
        if (p->gateway != NULL)
            world_tell(w, "  %u requests", cluster_gateway_n_requests(p->gateway));
        for (int e = 0; p->node != NULL && e < w->options.n_engines; e++)
            tell_engine(w, p, e);
    }
}

/* ---- Nothing is left behind. ---- */

static void check_engine(struct world_process *p, int e)
{
    struct world *w = p->world;
    const struct sim_engine *engine = &p->host.sim.engines[e];
    struct engine_report *own = p->host.own;
    if (w->options.plant == PLANT_LEAK && !w->is_planted) {
        const struct request request = {
            .id = 1, .n_prompt = 4, .n_tokens = 4, .n_tokens_max = 8, .deadline_ns = TIME_NEVER
        };
        *w->body = (struct request_body){ .n_tokens = 4 };
        w->is_planted =
            p->engines[e].face.service.submit(p->engines[e].face.service.self, &request, w->body);
    }
    engine_report(engine->engine, own, w->now_ns + p->offset_ns);
    if (!engine_is_sound(engine->engine))
        world_wrong(w, "engine %d of node %d is not sound", e, p->index);
    if (!engine_is_idle(engine->engine) || own->n_requests != 0)
        world_wrong(w, "engine %d of node %d has %d requests that nothing waits for", e, p->index,
                    own->n_requests);
    for (int s = 0; s < own->n_services; s++)
        if (own->services[s].kv_used_bytes != 0)
            world_wrong(w, "engine %d of node %d has %lld bytes of KV of no request", e, p->index,
                        (long long)own->services[s].kv_used_bytes);
}

/* Each gateway and manager has each node once, and one connection to it. */
static void check_places(struct world_process *p)
{
    struct world *w = p->world;
    const struct world_options *o = &w->options;
    int n_wanted = p->kind == WORLD_NODE ? o->n_managers + o->n_gateways : o->n_nodes;
    int n_up = wires_n_up(w->wires, p->index);
    if (n_up != n_wanted)
        world_wrong(w, "process %d has %d connections instead of %d", p->index, n_up, n_wanted);
    for (int i = 0; i < w->n_processes && p->kind != WORLD_NODE; i++)
        if (w->processes[i].kind == WORLD_NODE &&
            cluster_peers_find(&p->peers, w->processes[i].address) < 0)
            world_wrong(w, "process %d has no place for node %d", p->index, i);
}

static void check_store(struct world *w)
{
    int n_members = store_model_n_keys(w->store, "/shoal/sim/members/");
    int n_leases = store_model_n_leases(w->store);
    if (w->options.plant == PLANT_LEASE) {
        n_leases++;
        w->is_planted = true;
    }
    if (n_members != w->n_processes)
        world_wrong(w, "the store has %d members instead of %d", n_members, w->n_processes);
    if (n_leases != w->n_processes + 1) /* and the leader's */
        world_wrong(w, "the store has %d leases for %d processes and a leader", n_leases,
                    w->n_processes);
}

/* The fence of each node and manager, and no other file. */
static void check_files(struct world *w)
{
    int n = 0, n_wanted = w->options.n_nodes;
    if (w->options.plant == PLANT_FILE) {
        char path[300];
        snprintf(path, sizeof path, "%s/left", w->folder);
        FILE *file = fopen(path, "w");
        w->is_planted = file != NULL && fclose(file) == 0;
    }
    DIR *folder = opendir(w->folder);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (folder != NULL)
        closedir(folder);
    for (int i = 0; i < w->options.n_managers; i++)
        n_wanted += w->processes[i].fence.kept.epoch > 0 ||
                    !store_id_is_none(w->processes[i].fence.kept.nonce);
    if (n != n_wanted)
        world_wrong(w, "%s has %d files instead of %d", w->folder, n, n_wanted);
}

void world_checks_leaks(struct world *w)
{
    for (int i = 0; i < w->n_processes; i++) {
        struct world_process *p = &w->processes[i];
        check_places(p);
        if (p->gateway != NULL && (cluster_gateway_n_requests(p->gateway) != 0 || p->open.n != 0))
            world_wrong(w, "gateway %d has %u requests after the last has ended", i,
                        cluster_gateway_n_requests(p->gateway));
        if (p->gateway != NULL && !cluster_gateway_is_sound(p->gateway))
            world_wrong(w, "gateway %d is not sound", i);
        if (p->node != NULL && cluster_node_n_requests(p->node) != 0)
            world_wrong(w, "node %d has %u requests that no engine has", i,
                        cluster_node_n_requests(p->node));
        for (int e = 0; p->node != NULL && e < w->options.n_engines; e++)
            check_engine(p, e);
        if (p->host.sim.report != NULL && p->sim_report.wrong != NULL)
            world_wrong(w, "node %d: %s", i, p->sim_report.wrong);
    }
    check_store(w);
    check_files(w);
}
