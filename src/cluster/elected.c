/* Joins candidate, sessions with nodes, and plans. */
#include "cluster/elected.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/time.h"
#include "cluster/lead.h"
#include "cluster/manager.h"
#include "cluster/manager_plan.h"
#include <stdio.h>
#include <string.h>

static const int64_t FIRST_REPORTS_NS = 3 * TIME_NS_PER_S;
static const int64_t VANISH_NS = 10 * TIME_NS_PER_S;
static const int64_t PLACEMENT_NS = TIME_NS_PER_S; /* between writes at least */
static const int64_t LOOK_NS = TIME_NS_PER_S;      /* for what an operator adopted */
static const int64_t ASK_NS = 2 * TIME_NS_PER_S;
static const int64_t TURN_NS = 100 * TIME_NS_PER_MS;
static const int64_t WATCH_NS = 10 * TIME_NS_PER_MS; /* between looks at all nodes, at least */

struct node_seen {
    bool is_there; /* member or session */
    int64_t vanished_ns;
};
struct cluster_elected {
    struct cluster_elected_options options;
    struct store_leader *candidate;
    uint64_t n_reigns;
    int64_t now_ns, looked_ns, asked_ns;
    /* While it leads: */
    struct cluster_lead *lead;
    struct cluster_manager *manager;
    int64_t begun_ns;
    struct node_seen *nodes; /* (peers->n) */
    int n_before;            /* frozen: nodes that were there; 0: it is not */
    bool has_begun;          /* all first reports are there, or it waited long enough */
    struct cluster_members_model_wish wishes[LIMIT_MODELS]; /* that the manager knows */
    uint64_t n_changes;                                     /* of the members that it followed */
    struct str placement, written;
    char placement_key[STORE_KEY_BYTES]; /* of the call */
    struct store_call call;
    bool is_writing;
    int64_t looked_at_ns; /* of the placement */
    int64_t watched_ns, lead_wake_ns;
};

/* ---- Services. ---- */

static bool is_there(const struct cluster_elected *w, int s, bool *is_deployed)
{
    *is_deployed = false;
    return w->options.sees == NULL || w->options.sees(w->options.self, s, is_deployed);
}

static void forget_wish(struct cluster_elected *w, int s)
{
    w->wishes[s] = (struct cluster_members_model_wish){ .pin_engine = -1 };
}

void cluster_elected_add_service(struct cluster_elected *w, int s)
{
    CHECK(s >= 0 && s < w->options.n_services_max);
    w->options.n_services = max_i32(w->options.n_services, s + 1);
    forget_wish(w, s);
    w->n_changes = 0; /* operators may want it already */
    if (w->manager != NULL)
        cluster_manager_add_service(w->manager, s, &w->options.services[s],
                                    w->options.need_bytes[s]);
}

static void add_services(struct cluster_elected *w)
{
    bool is_deployed;
    for (int s = 0; s < w->options.n_services; s++) {
        forget_wish(w, s);
        if (is_there(w, s, &is_deployed))
            cluster_manager_add_service(w->manager, s, &w->options.services[s],
                                        w->options.need_bytes[s]);
    }
}

/* ---- Leading. ---- */

static bool may_act(void *self)
{
    struct cluster_elected *w = self;
    return store_leader_may_act(w->candidate, w->options.clock(w->options.self));
}

static void begin_reign(struct cluster_elected *w)
{
    const struct store_stamp stamp = store_leader_stamp(w->candidate);
    const struct cluster_lead_options lead = { .port = w->options.port,
                                               .nodes = w->options.peers->nodes,
                                               .n_nodes = w->options.peers->n,
                                               .stamp = stamp,
                                               .seed = rng_at(w->options.seed, 1, ++w->n_reigns),
                                               .may_act = may_act,
                                               .self = w };
    w->lead = cluster_lead_open(&lead);
    const struct cluster_manager_options manager = { .port = cluster_lead_port(w->lead),
                                                     .gateway = CLUSTER_LEAD_NO_GATEWAY,
                                                     .nodes = w->options.peers->nodes,
                                                     .n_nodes = w->options.peers->n,
                                                     .n_services_max = w->options.n_services_max,
                                                     .hears_demand = w->options.hears_demand,
                                                     .self = w->options.self,
                                                     .kept_bytes = w->options.kept_bytes };
    w->manager = cluster_manager_open(&manager);
    add_services(w);
    if (w->options.begins != NULL)
        w->options.begins(w->options.self);
    w->begun_ns = w->now_ns;
    w->nodes = mem_take(sizeof *w->nodes * (size_t)w->options.peers->n);
    w->n_before = 0;
    w->has_begun = false;
    w->n_changes = 0;
    w->watched_ns = w->lead_wake_ns = 0;
    str_clear(&w->written);
    if (store_fence_check(w->options.memory, &stamp) != STORE_OBEY)
        log_line(LOG_WARN, "manager", "%s: cannot write which cluster it led",
                 w->options.memory->path);
}

static void end_reign(struct cluster_elected *w)
{
    if (w->is_writing)
        w->options.membership->store->forget(w->options.membership->store->self, &w->call);
    w->is_writing = false;
    if (w->options.ends != NULL)
        w->options.ends(w->options.self);
    cluster_manager_close(w->manager);
    cluster_lead_close(w->lead);
    mem_give(w->nodes);
    w->manager = NULL;
    w->lead = NULL;
    w->nodes = NULL;
}

/* ---- Nodes: planning follows leases. ---- */

static void freeze(struct cluster_elected *w)
{
    int n_there = 0, n_vanished = 0;
    for (int i = 0; i < w->options.peers->n; i++) {
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

static void watch_nodes(struct cluster_elected *w)
{
    const struct cluster_members *members = &w->options.membership->members;
    bool all_known = true;
    int lost;
    while ((lost = cluster_lead_next_lost(w->lead)) >= 0)
        cluster_manager_plan_lose(w->manager, lost, false);
    for (int i = 0; i < w->options.peers->n; i++) {
        struct node_seen *seen = &w->nodes[i];
        bool has_lease = w->options.peers->of[i].is_member,
             has_session = cluster_lead_has_session(w->lead, i);
        enum cluster_members_wish wish =
            cluster_members_wish(members, w->options.peers->of[i].address);
        bool is_there = has_lease || has_session;
        if (seen->is_there && !is_there) {
            seen->vanished_ns = w->now_ns;
            cluster_manager_plan_lose(w->manager, i, true);
        }
        seen->is_there = is_there;
        bool is_planned = has_lease && has_session && wish == CLUSTER_WISH_NONE;
        int n_engines = w->options.peers->of[i].n_engines;
        cluster_manager_plan_node(w->manager, i, is_planned ? n_engines : 0);
        cluster_manager_plan_drain(w->manager, i, wish == CLUSTER_WISH_DRAIN);
        all_known =
            all_known && (!has_lease || cluster_manager_plan_knows(w->manager, i, n_engines));
    }
    freeze(w);
    w->has_begun = w->has_begun || all_known || w->begun_ns + FIRST_REPORTS_NS <= w->now_ns;
    cluster_manager_plan_freeze(w->manager, w->n_before > 0 || !w->has_begun);
}

static void follow_wish(struct cluster_elected *w, int s,
                        const struct cluster_members_model_wish *wish)
{
    const char *name = w->options.services[s].name;
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
        cluster_manager_plan_pin(w->manager, s, cluster_peers_find(w->options.peers, wish->pin),
                                 wish->pin_engine);
    else
        cluster_manager_plan_unpin(w->manager, s);
    if (strcmp(wish->pin, known->pin) != 0 || wish->pin_engine != known->pin_engine)
        log_line(LOG_INFO, "manager", "operators %s %s%s%s", wish->pin[0] ? "pin" : "unpin", name,
                 wish->pin[0] ? " to " : "", wish->pin);
    *known = *wish;
}

static void follow_wishes(struct cluster_elected *w)
{
    const struct cluster_members *members = &w->options.membership->members;
    if (w->n_changes == members->n_changes)
        return;
    w->n_changes = members->n_changes;
    bool is_deployed;
    for (int s = 0; s < w->options.n_services; s++) {
        if (!is_there(w, s, &is_deployed))
            continue;
        const struct cluster_members_model_wish wish =
            cluster_members_model(members, w->options.services[s].name);
        follow_wish(w, s, &wish);
    }
}

/* ---- The placement in force. ---- */

static const char *name_of(const void *self, int node)
{
    return ((const struct cluster_elected *)self)->options.peers->of[node].address;
}

/* Tells which models there are, which operators deployed, and which could not be loaded. */
static void print_model(struct cluster_elected *w, int s)
{
    const char *name = w->options.services[s].name, *why;
    struct cluster_members_refused broken;
    bool is_deployed;
    if (!is_there(w, s, &is_deployed))
        return;
    str_printf(&w->placement, "model %s\n", name);
    if (is_deployed)
        str_printf(&w->placement, "deployed %s\n", name);
    if (!cluster_manager_plan_is_broken(w->manager, s, &broken.cause, &why)) {
        broken.cause = STATUS_BAD_INPUT;
        why =
            is_deployed ? cluster_members_why_refused(&w->options.membership->members, name) : NULL;
    }
    if (why == NULL)
        return;
    snprintf(broken.name, sizeof broken.name, "%s", name);
    snprintf(broken.why, sizeof broken.why, "%.199s", why);
    cluster_members_write_broken(&w->placement, &broken);
}

/* Writes where models are, if that has changed, guarded by the leader's key and the nonce. */
static void write_placement(struct cluster_elected *w)
{
    if (!w->has_begun || w->is_writing || w->looked_at_ns + PLACEMENT_NS > w->now_ns)
        return;
    w->looked_at_ns = w->now_ns;
    str_clear(&w->placement);
    str_printf(&w->placement, "epoch %llu\n",
               (unsigned long long)store_leader_stamp(w->candidate).epoch);
    for (int s = 0; s < w->options.n_services; s++)
        print_model(w, s);
    cluster_manager_plan_print(w->manager, name_of, w, &w->placement);
    struct view now = view_of(w->placement.at, w->placement.n);
    if (view_equal(now, view_of(w->written.at != NULL ? w->written.at : "", w->written.n)))
        return;
    str_clear(&w->written);
    str_add(&w->written, now.at, now.n);
    snprintf(w->placement_key, sizeof w->placement_key, "%splacement",
             w->options.membership->prefix);
    w->call = (struct store_call){ .kind = STORE_CHANGE,
                                   .timeout_ns = w->options.ttl_s * TIME_NS_PER_S / 4,
                                   .n_conditions = 2,
                                   .n_changes = 1 };
    store_leader_guard(w->candidate, w->call.conditions);
    w->call.changes[0] = (struct store_change){ .key = w->placement_key,
                                                .value = view_of(w->written.at, w->written.n) };
    w->is_writing = true;
    w->options.membership->store->begin(w->options.membership->store->self, &w->call);
}

static void take_news(void *self, const struct store_news *news, int64_t now_ns)
{
    struct cluster_elected *w = self;
    if (w->options.hears_news != NULL)
        w->options.hears_news(w->options.self, news);
    if (store_leader_take(w->candidate, news, now_ns) || news->kind != STORE_NEWS_CALL ||
        news->call != &w->call)
        return;
    w->is_writing = false;
    if (w->call.end != STORE_DONE || !w->call.is_made)
        str_clear(&w->written); /* it is written again, if this manager still leads */
}

/* ---- Its step. ---- */

/* Keeps the cluster's life on disk, and takes over what an operator adopted there. */
static void keep_life(struct cluster_elected *w)
{
    struct store_fence there;
    struct store_id nonce = store_leader_nonce(w->candidate);
    struct fault fault;
    if (w->looked_ns + LOOK_NS > w->now_ns)
        return;
    w->looked_ns = w->now_ns;
    if (store_id_is_none(w->options.memory->kept.nonce) && !store_id_is_none(nonce) &&
        store_fence_adopt(w->options.memory, nonce, &fault) != STATUS_OK)
        log_line(LOG_WARN, "manager", "%s", fault.text);
    if (store_leader_state(w->candidate) != STORE_FOREIGN ||
        store_fence_open(&there, w->options.memory->path, &fault) != STATUS_OK ||
        store_id_equal(there.kept.nonce, nonce))
        return;
    if (store_leader_adopt(w->candidate, there.kept.nonce)) {
        *w->options.memory = there;
        log_line(LOG_INFO, "manager", "takes the cluster's new life, as an operator adopted it");
    }
}

static int64_t step_reign(struct cluster_elected *w)
{
    struct store_stamp kept;
    int64_t look_ns = min_i64(w->watched_ns + WATCH_NS, w->lead_wake_ns);
    if (look_ns <= w->now_ns) {
        w->watched_ns = w->now_ns;
        look_ns = w->lead_wake_ns = cluster_lead_step(w->lead, w->now_ns);
        while (cluster_lead_next_refusal(w->lead, &kept))
            store_leader_heard(w->candidate, &kept);
        follow_wishes(w);
        watch_nodes(w);
    }
    int64_t wake_ns = cluster_manager_step(w->manager, w->now_ns);
    write_placement(w);
    return min_i64(wake_ns, look_ns); /* a step without a look may have left one something to see */
}

/* A candidate keeps its connections, and hears which epochs its nodes obeyed. */
static void ask_nodes(struct cluster_elected *w)
{
    const struct bus_port port = w->options.port;
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
    for (int i = 0; i < w->options.peers->n; i++)
        if (w->options.peers->is_up(w->options.peers->self, w->options.peers->nodes[i].address))
            cluster_lead_ask(&port, w->options.peers->nodes[i].address);
}

int64_t cluster_elected_step(struct cluster_elected *w, int64_t now_ns)
{
    w->now_ns = now_ns;
    int64_t wake_ns = cluster_membership_step(w->options.membership, now_ns, take_news, w);
    wake_ns = min_i64(wake_ns, store_leader_step(w->candidate, now_ns));
    keep_life(w);
    cluster_peers_follow(w->options.peers, &w->options.membership->members);
    bool leads = store_leader_may_act(w->candidate, now_ns);
    if (leads && w->manager == NULL)
        begin_reign(w);
    else if (!leads && w->manager != NULL)
        end_reign(w);
    if (w->manager != NULL)
        wake_ns = min_i64(wake_ns, step_reign(w));
    else
        ask_nodes(w);
    return min_i64(wake_ns, now_ns + TURN_NS);
}

/* ---- Life. ---- */

struct cluster_elected *cluster_elected_open(const struct cluster_elected_options *options)
{
    struct cluster_elected *w = mem_take(sizeof *w);
    CHECK(options->n_services <= LIMIT_MODELS && options->n_services_max <= LIMIT_MODELS);
    w->options = *options;
    w->options.n_services_max = max_i32(options->n_services_max, options->n_services);
    str_init(&w->placement);
    str_init(&w->written);
    const struct store_leader_options candidate = { .store = options->membership->store,
                                                    .prefix = options->membership->prefix,
                                                    .name = options->name,
                                                    .id = options->id,
                                                    .nonce = options->memory->kept.nonce,
                                                    .ttl_s = options->ttl_s,
                                                    .seed = rng_at(options->seed, 0, 0) };
    w->candidate = store_leader_open(&candidate);
    return w;
}

void cluster_elected_close(struct cluster_elected *w)
{
    if (w->manager != NULL)
        end_reign(w);
    store_leader_close(w->candidate);
    str_free(&w->placement);
    str_free(&w->written);
    mem_give(w);
}

/* ---- What is known. ---- */

struct cluster_manager *cluster_elected_manager(const struct cluster_elected *w)
{
    return w->manager;
}

bool cluster_elected_is_still(const struct cluster_elected *w)
{
    return w->n_before > 0 || !w->has_begun;
}

const struct store_leader *cluster_elected_candidate(const struct cluster_elected *w)
{
    return w->candidate;
}
