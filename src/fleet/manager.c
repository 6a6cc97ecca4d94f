/* Wires a manager: store, election, bus, sessions with nodes, and plans. */
#include "fleet/manager.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cluster/lead.h"
#include "cluster/manager.h"
#include "cluster/manager_move.h"
#include "cluster/manager_plan.h"
#include "cluster/tcp_bus.h"
#include "fleet/bus.h"
#include "fleet/endpoint.h"
#include "fleet/follow.h"
#include "fleet/models.h"
#include "fleet/monitor.h"
#include "fleet/replan.h"
#include "fleet/store.h"
#include "store/leader.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t FIRST_REPORTS_NS = 3 * TIME_NS_PER_S;
static const int64_t VANISH_NS = 10 * TIME_NS_PER_S;
static const int64_t PLACEMENT_NS = TIME_NS_PER_S; /* between writes at least */
static const int64_t LOOK_NS = TIME_NS_PER_S;      /* for what an operator adopted */
static const int64_t ASK_NS = 2 * TIME_NS_PER_S;
static const int64_t LEAVE_NS = 3 * TIME_NS_PER_S; /* for requests of a model that is undeployed */
static const int64_t TURN_NS = 100 * TIME_NS_PER_MS;

struct node_seen {
    bool is_there; /* member or session */
    int64_t vanished_ns;
};
struct fleet_manager {
    struct config config;
    struct fleet_models models;
    struct fleet_bus bus;
    struct fleet_store store;
    struct fleet_follow follow; /* of the models that operators deploy */
    struct store_leader *candidate;
    struct store_fence memory; /* of the cluster's life, on disk */
    struct fleet_monitor monitor;
    struct fleet_replan replan;
    struct fleet_endpoint *endpoint; /* NULL: none is configured */
    int64_t now_ns, looked_ns, asked_ns;
    /* While it leads: */
    struct cluster_lead *lead;
    struct cluster_manager *manager;
    int64_t begun_ns;
    struct node_seen *nodes; /* (bus.n_nodes) */
    int n_before;            /* frozen: nodes that were there; 0: it is not */
    bool has_begun;          /* all first reports are there, or it waited long enough */
    struct cluster_members_model_wish wishes[LIMIT_MODELS]; /* that the manager knows */
    uint64_t n_changes;                                     /* of the members that it followed */
    struct str placement, written;
    struct store_call call;
    bool is_writing;
    int64_t written_ns;
};

/* ---- Leading. ---- */

static bool may_act(void *self)
{
    struct fleet_manager *w = self;
    return store_leader_may_act(w->candidate, time_boot_ns());
}

static void hear_demand(void *self, int service, const struct message_demand *message)
{
    struct fleet_manager *w = self;
    fleet_monitor_heard(&w->monitor, service, message, w->now_ns);
}

static void begin_reign(struct fleet_manager *w)
{
    const struct store_stamp stamp = store_leader_stamp(w->candidate);
    const struct cluster_lead_options lead = { .port = cluster_tcp_bus_port(w->bus.tcp),
                                               .nodes = w->bus.nodes,
                                               .n_nodes = w->bus.n_nodes,
                                               .stamp = stamp,
                                               .seed = rng_system(),
                                               .may_act = may_act,
                                               .self = w };
    w->lead = cluster_lead_open(&lead);
    const struct cluster_manager_options manager = { .port = cluster_lead_port(w->lead),
                                                     .gateway = CLUSTER_LEAD_NO_GATEWAY,
                                                     .nodes = w->bus.nodes,
                                                     .n_nodes = w->bus.n_nodes,
                                                     .n_services_max = LIMIT_MODELS,
                                                     .hears_demand = hear_demand,
                                                     .self = w,
                                                     .kept_bytes = w->models.kept_bytes };
    w->manager = cluster_manager_open(&manager);
    for (int s = 0; s < w->models.n; s++)
        if (fleet_models_is_there(&w->models, s))
            cluster_manager_add_service(w->manager, s, &w->models.services[s],
                                        w->models.need_bytes[s]);
    fleet_monitor_begin(&w->monitor, w->now_ns);
    fleet_replan_begin(&w->replan, w->now_ns);
    w->begun_ns = w->now_ns;
    w->nodes = mem_take(sizeof *w->nodes * (size_t)w->bus.n_nodes);
    w->n_before = 0;
    w->has_begun = false;
    memset(w->wishes, 0, sizeof w->wishes);
    for (int s = 0; s < LIMIT_MODELS; s++)
        w->wishes[s].pin_engine = -1;
    w->n_changes = 0;
    str_clear(&w->written);
    if (store_fence_check(&w->memory, &stamp) != STORE_OBEY)
        log_line(LOG_WARN, "manager", "%s: cannot write which cluster it led", w->memory.path);
}

static void end_reign(struct fleet_manager *w)
{
    if (w->is_writing)
        w->store.store->forget(w->store.store->self, &w->call);
    w->is_writing = false;
    fleet_replan_end(&w->replan);
    fleet_monitor_end(&w->monitor);
    cluster_manager_close(w->manager);
    cluster_lead_close(w->lead);
    mem_give(w->nodes);
    w->manager = NULL;
    w->lead = NULL;
    w->nodes = NULL;
}

/* ---- Nodes: planning follows leases. ---- */

static bool is_member(const struct fleet_manager *w, int i)
{
    const struct fleet_bus_slot *slot = &w->bus.slots[i];
    return slot->address[0] != '\0' &&
           (slot->is_static || cluster_members_find(&w->store.members, slot->address) >= 0);
}

static void freeze(struct fleet_manager *w)
{
    int n_there = 0, n_vanished = 0;
    for (int i = 0; i < w->bus.n_nodes; i++) {
        const struct node_seen *seen = &w->nodes[i];
        n_there += seen->is_there;
        n_vanished +=
            !seen->is_there && seen->vanished_ns > 0 && seen->vanished_ns + VANISH_NS > w->now_ns;
    }
    if (w->n_before == 0 && n_vanished > n_there) {
        w->n_before = n_vanished + n_there;
        log_line(LOG_ERROR, "manager",
                 "%d of %d nodes vanished at once: nothing is changed until half of them are back "
                 "(or this manager is restarted)",
                 n_vanished, w->n_before);
    } else if (w->n_before > 0 && 2 * n_there >= w->n_before) {
        log_line(LOG_WARN, "manager", "%d nodes are there again: plans go on", n_there);
        w->n_before = 0;
    }
}

static void watch_nodes(struct fleet_manager *w)
{
    bool all_known = true;
    int lost;
    while ((lost = cluster_lead_next_lost(w->lead)) >= 0)
        cluster_manager_plan_lose(w->manager, lost, false);
    for (int i = 0; i < w->bus.n_nodes; i++) {
        struct node_seen *seen = &w->nodes[i];
        bool has_lease = is_member(w, i), has_session = cluster_lead_has_session(w->lead, i);
        enum cluster_members_wish wish =
            cluster_members_wish(&w->store.members, w->bus.slots[i].address);
        bool is_there = has_lease || has_session;
        if (seen->is_there && !is_there) {
            seen->vanished_ns = w->now_ns;
            cluster_manager_plan_lose(w->manager, i, true);
        }
        seen->is_there = is_there;
        bool is_planned = has_lease && has_session && wish == CLUSTER_WISH_NONE;
        int n_engines = w->bus.slots[i].n_engines;
        cluster_manager_plan_node(w->manager, i, is_planned ? n_engines : 0);
        cluster_manager_plan_drain(w->manager, i, wish == CLUSTER_WISH_DRAIN);
        all_known =
            all_known && (!has_lease || cluster_manager_plan_knows(w->manager, i, n_engines));
    }
    freeze(w);
    w->has_begun = w->has_begun || all_known || w->begun_ns + FIRST_REPORTS_NS <= w->now_ns;
    cluster_manager_plan_freeze(w->manager, w->n_before > 0 || !w->has_begun);
}

/* Returns the node of this address, or -1. */
static int find_node(const struct fleet_manager *w, const char *address)
{
    for (int i = 0; i < w->bus.n_nodes; i++)
        if (strcmp(w->bus.slots[i].address, address) == 0)
            return i;
    return -1;
}

static void follow_wish(struct fleet_manager *w, int s,
                        const struct cluster_members_model_wish *wish)
{
    const char *name = w->models.services[s].name;
    struct cluster_members_model_wish *known = &w->wishes[s];
    if (wish->n_copies != known->n_copies) {
        cluster_manager_plan_model(w->manager, s, wish->n_copies);
        log_line(LOG_INFO, "manager", "operators want %s: %d copies (-1: none, 0: as requests do)",
                 name, wish->n_copies);
    }
    if (wish->is_paused != known->is_paused) {
        cluster_manager_plan_pause(w->manager, s, wish->is_paused);
        log_line(LOG_INFO, "manager", "operators %s %s", wish->is_paused ? "pause" : "unpause",
                 name);
    }
    if (wish->pin[0] != '\0') /* the node of that address may have another place now */
        cluster_manager_plan_pin(w->manager, s, find_node(w, wish->pin), wish->pin_engine);
    else
        cluster_manager_plan_unpin(w->manager, s);
    if (strcmp(wish->pin, known->pin) != 0 || wish->pin_engine != known->pin_engine)
        log_line(LOG_INFO, "manager", "operators %s %s%s%s", wish->pin[0] ? "pin" : "unpin", name,
                 wish->pin[0] ? " to " : "", wish->pin);
    *known = *wish;
}

static void follow_wishes(struct fleet_manager *w)
{
    const struct cluster_members *members = &w->store.members;
    if (w->n_changes == members->n_changes)
        return;
    w->n_changes = members->n_changes;
    for (int s = 0; s < w->models.n; s++) {
        if (!fleet_models_is_there(&w->models, s))
            continue;
        const struct cluster_members_model_wish wish =
            cluster_members_model(members, w->models.services[s].name);
        follow_wish(w, s, &wish);
    }
}

/* ---- The placement in force. ---- */

static const char *name_of(const void *self, int node)
{
    return ((const struct fleet_manager *)self)->bus.slots[node].address;
}

/* Tells which models there are, which operators deployed, and which could not be loaded. */
static void print_model(struct fleet_manager *w, int s)
{
    const char *name = w->models.services[s].name, *why;
    struct cluster_members_refused broken = { .cause = STATUS_BAD_INPUT };
    bool is_nowhere;
    if (!fleet_models_is_there(&w->models, s))
        return;
    str_printf(&w->placement, "model %s\n", name);
    if (w->models.offers[s].is_defined)
        str_printf(&w->placement, "deployed %s\n", name);
    is_nowhere = cluster_manager_plan_is_broken(w->manager, s, &broken.cause, &why);
    if (!is_nowhere && w->models.offers[s].is_defined) {
        broken.cause = STATUS_BAD_INPUT;
        why = cluster_members_why_refused(&w->store.members, name);
        is_nowhere = why != NULL;
    }
    if (!is_nowhere)
        return;
    snprintf(broken.name, sizeof broken.name, "%s", name);
    snprintf(broken.why, sizeof broken.why, "%.199s", why);
    cluster_members_write_broken(&w->placement, &broken);
}

/* Writes where models are, if that has changed, guarded by the leader's key and the nonce. */
static void write_placement(struct fleet_manager *w)
{
    static char key[STORE_KEY_BYTES];
    if (!w->has_begun || w->is_writing || w->written_ns + PLACEMENT_NS > w->now_ns)
        return;
    str_clear(&w->placement);
    str_printf(&w->placement, "epoch %llu\n",
               (unsigned long long)store_leader_stamp(w->candidate).epoch);
    for (int s = 0; s < w->models.n; s++)
        print_model(w, s);
    cluster_manager_plan_print(w->manager, name_of, w, &w->placement);
    struct view now = view_of(w->placement.at, w->placement.n);
    if (view_equal(now, view_of(w->written.at != NULL ? w->written.at : "", w->written.n)))
        return;
    str_clear(&w->written);
    str_add(&w->written, now.at, now.n);
    snprintf(key, sizeof key, "%splacement", w->store.prefix);
    w->call = (struct store_call){ .kind = STORE_CHANGE,
                                   .timeout_ns = w->config.store_lease_ns / 4,
                                   .n_conditions = 2,
                                   .n_changes = 1 };
    store_leader_guard(w->candidate, w->call.conditions);
    w->call.changes[0] =
        (struct store_change){ .key = key, .value = view_of(w->written.at, w->written.n) };
    w->is_writing = true;
    w->written_ns = w->now_ns;
    w->store.store->begin(w->store.store->self, &w->call);
}

static void take_news(void *self, const struct store_news *news, int64_t now_ns)
{
    struct fleet_manager *w = self;
    fleet_follow_take(&w->follow, news);
    if (store_leader_take(w->candidate, news, now_ns) || news->kind != STORE_NEWS_CALL ||
        news->call != &w->call)
        return;
    w->is_writing = false;
    if (w->call.end != STORE_DONE || !w->call.is_made)
        str_clear(&w->written); /* it is written again, if this manager still leads */
}

/* ---- Models that operators deploy. ---- */

static bool is_opening(void *self)
{
    return fleet_models_is_opening(&((struct fleet_manager *)self)->models);
}

static enum status join(void *self, const struct config_model *model, uint16_t life, int replaced,
                        struct fault *fault)
{
    return fleet_models_begin(&((struct fleet_manager *)self)->models, model, life, replaced,
                              fault);
}

static void leave(void *self, int service)
{
    fleet_models_leave(&((struct fleet_manager *)self)->models, service);
}

static void take_in(struct fleet_manager *w, int service)
{
    fleet_monitor_forget(&w->monitor, service);
    fleet_replan_forget(&w->replan, service);
    w->wishes[service] = (struct cluster_members_model_wish){ .pin_engine = -1 };
    w->n_changes = 0; /* operators may want it already */
    if (w->manager == NULL)
        return;
    cluster_manager_move_abandon(w->manager, "a model was deployed");
    cluster_manager_add_service(w->manager, service, &w->models.services[service],
                                w->models.need_bytes[service]);
}

/* Its entry in the store says which models it can't use, and why. */
static void tell_refused(struct fleet_manager *w)
{
    struct cluster_members_refused refused[CLUSTER_MEMBER_REFUSED_MAX];
    struct str value;
    if (!w->follow.has_refusals)
        return;
    w->follow.has_refusals = false;
    str_init(&value);
    cluster_members_write_node(&value, 0, "", refused, fleet_follow_refused(&w->follow, refused));
    cluster_member_set(&w->store.member, value.at);
    str_free(&value);
}

static int64_t step_models(struct fleet_manager *w)
{
    const struct fleet_follow_port port = { .self = w,
                                            .config = &w->config,
                                            .offers = w->models.offers,
                                            .leave_ns = LEAVE_NS,
                                            .is_busy = is_opening,
                                            .join = join,
                                            .leave = leave };
    int service;
    if (fleet_models_end(&w->models, &service)) {
        if (service >= 0)
            take_in(w, service);
        fleet_follow_joined(&w->follow, w->models.status, &w->models.fault, w->now_ns);
    }
    int64_t wake_ns = fleet_follow_step(&w->follow, &port, w->now_ns);
    tell_refused(w);
    fleet_models_step(&w->models, w->manager);
    return wake_ns;
}

/* ---- Its step. ---- */

/* Keeps the cluster's life on disk, and takes over what an operator adopted there. */
static void keep_life(struct fleet_manager *w)
{
    struct store_fence there;
    struct store_id nonce = store_leader_nonce(w->candidate);
    struct fault fault;
    if (w->looked_ns + LOOK_NS > w->now_ns)
        return;
    w->looked_ns = w->now_ns;
    if (store_id_is_none(w->memory.kept.nonce) && !store_id_is_none(nonce) &&
        store_fence_adopt(&w->memory, nonce, &fault) != STATUS_OK)
        log_line(LOG_WARN, "manager", "%s", fault.text);
    if (store_leader_state(w->candidate) != STORE_FOREIGN ||
        store_fence_open(&there, w->memory.path, &fault) != STATUS_OK ||
        store_id_equal(there.kept.nonce, nonce))
        return;
    if (store_leader_adopt(w->candidate, there.kept.nonce)) {
        w->memory = there;
        log_line(LOG_INFO, "manager", "takes the cluster's new life, as an operator adopted it");
    }
}

static int64_t step_reign(struct fleet_manager *w)
{
    struct store_stamp kept;
    int64_t wake_ns = cluster_lead_step(w->lead, w->now_ns);
    while (cluster_lead_next_refusal(w->lead, &kept))
        store_leader_heard(w->candidate, &kept);
    follow_wishes(w);
    watch_nodes(w);
    wake_ns = min_i64(wake_ns, cluster_manager_step(w->manager, w->now_ns));
    int n_engines;
    const struct engine_report *reports = cluster_manager_plan_reports(w->manager, &n_engines);
    fleet_monitor_step(&w->monitor, reports, n_engines, w->now_ns);
    fleet_replan_step(&w->replan, w->manager, w->n_before > 0 || !w->has_begun, w->now_ns);
    write_placement(w);
    return wake_ns;
}

/* A candidate keeps its connections, and hears which epochs its nodes obeyed. */
static void ask_nodes(struct fleet_manager *w)
{
    const struct bus_port port = cluster_tcp_bus_port(w->bus.tcp);
    struct store_stamp kept;
    const void *message;
    size_t n_bytes;
    while (port.peek(port.self, port.address, &message, &n_bytes)) {
        if (cluster_lead_read_answer(message, n_bytes, &kept))
            store_leader_heard(w->candidate, &kept);
        port.pop(port.self, port.address);
    }
    if (w->asked_ns + ASK_NS > w->now_ns)
        return;
    w->asked_ns = w->now_ns;
    for (int i = 0; i < w->bus.n_nodes; i++)
        if (cluster_tcp_bus_is_up(w->bus.tcp, w->bus.nodes[i].address))
            cluster_lead_ask(&port, w->bus.nodes[i].address);
}

int64_t fleet_manager_step(struct fleet_manager *w)
{
    w->now_ns = time_boot_ns();
    int64_t wake_ns = fleet_store_step(&w->store, w->now_ns, take_news, w);
    wake_ns = min_i64(wake_ns, store_leader_step(w->candidate, w->now_ns));
    keep_life(w);
    fleet_bus_follow(&w->bus, &w->store.members);
    bool leads = store_leader_may_act(w->candidate, w->now_ns);
    if (leads && w->manager == NULL)
        begin_reign(w);
    else if (!leads && w->manager != NULL)
        end_reign(w);
    if (w->manager != NULL)
        wake_ns = min_i64(wake_ns, step_reign(w));
    else
        ask_nodes(w);
    wake_ns = min_i64(wake_ns, step_models(w));
    wake_ns = min_i64(wake_ns, w->now_ns + TURN_NS);
    return time_now_ns() + max_i64(wake_ns - time_boot_ns(), 0);
}

/* ---- What it tells. ---- */

static bool leads(void *self)
{
    return ((struct fleet_manager *)self)->manager != NULL;
}

static void tell_metrics(void *self, struct str *out)
{
    struct fleet_manager *w = self;
    const struct monitor_names names = fleet_monitor_names(&w->monitor);
    str_printf(out,
               "# HELP shoal_manager_leads Whether this manager leads.\n"
               "# TYPE shoal_manager_leads gauge\nshoal_manager_leads %d\n",
               leads(w));
    if (!leads(w))
        return;
    monitor_tell_metrics(&w->monitor.gather, &names, w->now_ns, out);
    fleet_replan_metrics(&w->replan, out);
}

static void tell_monitor(void *self, struct str *out)
{
    struct fleet_manager *w = self;
    const struct monitor_names names = fleet_monitor_names(&w->monitor);
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    monitor_tell_json(&w->monitor.gather, &names, w->now_ns, &json);
    json_out_close(&json, '}');
}

static void tell_plan(void *self, struct str *out)
{
    struct fleet_manager *w = self;
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    fleet_replan_tell(&w->replan, w->now_ns, &json);
    json_out_close(&json, '}');
}

static enum status open_endpoint(struct fleet_manager *w, struct fault *fault)
{
    const struct fleet_endpoint_options options = { .base = w->bus.base,
                                                    .config = &w->config,
                                                    .self = w,
                                                    .leads = leads,
                                                    .metrics = tell_metrics,
                                                    .monitor = tell_monitor,
                                                    .plan = tell_plan };
    return fleet_endpoint_open(&w->endpoint, &options, fault);
}

/* ---- Life. ---- */

static enum status open_candidate(struct fleet_manager *w, struct fault *fault)
{
    char name[64] = "";
    (void)gethostname(name, sizeof name - 16);
    size_t n = strlen(name);
    snprintf(name + n, sizeof name - n, ":%d", (int)getpid());
    enum status status = fleet_store_open_fence(&w->config, "led", &w->memory, fault);
    if (status != STATUS_OK)
        return status;
    const struct store_leader_options options = {
        .store = w->store.store,
        .prefix = w->store.prefix,
        .name = name,
        .id = { rng_system(), rng_system() },
        .nonce = w->memory.kept.nonce,
        .ttl_s = w->config.store_lease_ns / TIME_NS_PER_S,
        .seed = rng_system(),
    };
    w->candidate = store_leader_open(&options);
    return STATUS_OK;
}

static enum status open_all(struct fleet_manager *w, struct fault *fault)
{
    char name[24];
    enum status status = fleet_models_open(&w->models, &w->config, fault);
    if (status == STATUS_OK)
        status = fleet_bus_open(&w->bus, &w->config, NULL, fault);
    snprintf(name, sizeof name, "%016llx", (unsigned long long)rng_system());
    if (status == STATUS_OK)
        status = fleet_store_open(&w->store, &w->config, "manager", name, "{}", fault);
    if (status == STATUS_OK)
        fleet_follow_open(&w->follow, w->store.prefix);
    if (status == STATUS_OK)
        status = open_candidate(w, fault);
    if (status == STATUS_OK)
        status = open_endpoint(w, fault);
    if (status == STATUS_OK) {
        fleet_monitor_open(&w->monitor, &w->config, &w->models, &w->bus);
        fleet_replan_open(&w->replan, &w->config, &w->models, &w->monitor);
    }
    return status;
}

enum status fleet_manager_open(struct fleet_manager **out, const struct config *config,
                               struct fault *fault)
{
    struct fleet_manager *w = mem_take(sizeof *w);
    w->config = *config;
    str_init(&w->placement);
    str_init(&w->written);
    enum status status = open_all(w, fault);
    if (status == STATUS_OK)
        *out = w;
    else
        fleet_manager_close(w);
    return status;
}

void fleet_manager_close(struct fleet_manager *w)
{
    if (w->manager != NULL)
        end_reign(w);
    fleet_endpoint_close(w->endpoint);
    fleet_replan_close(&w->replan);
    fleet_monitor_close(&w->monitor);
    if (w->candidate != NULL)
        store_leader_close(w->candidate);
    fleet_models_close(&w->models); /* waits for the thread that reads what `follow` holds */
    fleet_store_close(&w->store);
    fleet_follow_close(&w->follow);
    fleet_bus_close(&w->bus);
    str_free(&w->placement);
    str_free(&w->written);
    mem_give(w);
}

struct event_base *fleet_manager_base(struct fleet_manager *w)
{
    return w->bus.base;
}

int fleet_manager_bus_fd(struct fleet_manager *w)
{
    const struct bus_port port = cluster_tcp_bus_port(w->bus.tcp);
    return port.wait_fd(port.self, port.address);
}

int fleet_manager_store_fd(struct fleet_manager *w)
{
    return w->store.store->wait_fd(w->store.store->self);
}
