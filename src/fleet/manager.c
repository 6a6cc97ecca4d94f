/* Wires a manager (cluster/elected.h) to etcd, the bus, its monitor and plans. */
#include "fleet/manager.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cluster/elected.h"
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
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t LEAVE_NS = 3 * TIME_NS_PER_S; /* for requests of a model that is undeployed */

struct fleet_manager {
    struct config config;
    struct fleet_models models;
    struct fleet_bus bus;
    struct cluster_membership membership;
    struct cluster_elected *elected;
    struct fleet_follow follow; /* of the models that operators deploy */
    struct store_fence memory;  /* of the cluster's life, on disk */
    struct fleet_monitor monitor;
    struct fleet_replan replan;
    struct fleet_endpoint *endpoint; /* NULL: none is configured */
    int64_t now_ns;
};

/* ---- Leading. ---- */

static int64_t clock_of(void *self)
{
    (void)self;
    return time_boot_ns();
}

static void hear_demand(void *self, int service, const struct message_demand *message)
{
    struct fleet_manager *w = self;
    fleet_monitor_heard(&w->monitor, service, message, w->now_ns);
}

static void begin_reign(void *self)
{
    struct fleet_manager *w = self;
    fleet_monitor_begin(&w->monitor, w->now_ns);
    fleet_replan_begin(&w->replan, w->now_ns);
}

static void end_reign(void *self)
{
    struct fleet_manager *w = self;
    fleet_replan_end(&w->replan);
    fleet_monitor_end(&w->monitor);
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
    if (cluster_elected_manager(w->elected) != NULL)
        cluster_manager_move_abandon(cluster_elected_manager(w->elected), "a model was deployed");
    cluster_elected_add_service(w->elected, service);
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
    cluster_member_set(&w->membership.member, value.at);
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
    fleet_models_step(&w->models, cluster_elected_manager(w->elected));
    return wake_ns;
}

static bool sees(void *self, int service, bool *is_deployed)
{
    const struct fleet_manager *w = self;
    *is_deployed = w->models.offers[service].is_defined;
    return fleet_models_is_there(&w->models, service);
}

static void hear_news(void *self, const struct store_news *news)
{
    fleet_follow_take(&((struct fleet_manager *)self)->follow, news);
}

/* ---- Its step. ---- */

int64_t fleet_manager_step(struct fleet_manager *w)
{
    w->now_ns = time_boot_ns();
    int64_t wake_ns = cluster_elected_step(w->elected, w->now_ns);
    struct cluster_manager *manager = cluster_elected_manager(w->elected);
    if (manager != NULL) {
        int n_engines;
        const struct engine_report *reports = cluster_manager_plan_reports(manager, &n_engines);
        fleet_monitor_step(&w->monitor, reports, n_engines, w->now_ns);
        fleet_replan_step(&w->replan, manager, cluster_elected_is_still(w->elected), w->now_ns);
    }
    wake_ns = min_i64(wake_ns, step_models(w));
    return time_now_ns() + max_i64(wake_ns - time_boot_ns(), 0);
}

/* ---- What it tells. ---- */

static bool leads(void *self)
{
    return cluster_elected_manager(((struct fleet_manager *)self)->elected) != NULL;
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

static enum status open_elected(struct fleet_manager *w, struct fault *fault)
{
    char name[64] = "";
    (void)gethostname(name, sizeof name - 16);
    size_t n = strlen(name);
    snprintf(name + n, sizeof name - n, ":%d", (int)getpid());
    enum status status = fleet_store_open_fence(&w->config, "led", &w->memory, fault);
    if (status != STATUS_OK)
        return status;
    const struct cluster_elected_options options = { .port = cluster_tcp_bus_port(w->bus.tcp),
                                                     .peers = &w->bus.peers,
                                                     .membership = &w->membership,
                                                     .memory = &w->memory,
                                                     .n_services = w->models.n,
                                                     .n_services_max = LIMIT_MODELS,
                                                     .services = w->models.services,
                                                     .need_bytes = w->models.need_bytes,
                                                     .kept_bytes = w->models.kept_bytes,
                                                     .name = name,
                                                     .id = { rng_system(), rng_system() },
                                                     .ttl_s =
                                                         w->config.store_lease_ns / TIME_NS_PER_S,
                                                     .seed = rng_system(),
                                                     .clock = clock_of,
                                                     .sees = sees,
                                                     .hears_news = hear_news,
                                                     .begins = begin_reign,
                                                     .ends = end_reign,
                                                     .hears_demand = hear_demand,
                                                     .self = w };
    w->elected = cluster_elected_open(&options);
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
        status = fleet_store_open(&w->membership, &w->config, "manager", name, "{}", fault);
    if (status == STATUS_OK)
        fleet_follow_open(&w->follow, w->membership.prefix);
    if (status == STATUS_OK)
        status = open_elected(w, fault);
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
    enum status status = open_all(w, fault);
    if (status == STATUS_OK)
        *out = w;
    else
        fleet_manager_close(w);
    return status;
}

void fleet_manager_close(struct fleet_manager *w)
{
    if (w->elected != NULL)
        cluster_elected_close(w->elected);
    fleet_endpoint_close(w->endpoint);
    fleet_replan_close(&w->replan);
    fleet_monitor_close(&w->monitor);
    fleet_models_close(&w->models); /* waits for the thread that reads what `follow` holds */
    fleet_store_close(&w->membership);
    fleet_follow_close(&w->follow);
    fleet_bus_close(&w->bus);
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
    return w->membership.store->wait_fd(w->membership.store->self);
}
