/* Makes a house a member of a cluster with a store. */
#include "cmd/wire_cluster.h"

#include "base/log.h"
#include "base/rng.h"
#include "base/time.h"
#include "cmd/verbs.h"
#include "cmd/wire_house.h"
#include "cmd/wire_join.h"
#include "cmd/wire_wishes.h"
#include <stdio.h>

/* After a model was undeployed, requests that gateways accepted may still come. */
static const int64_t NODE_LEAVE_NS = 3 * TIME_NS_PER_S;

enum status wire_cluster_open_fence(struct house *house, struct fault *fault)
{
    return fleet_store_open_fence(&house->config, "obeyed", &house->fence, fault);
}

enum status wire_cluster_join(struct house *house, struct fault *fault)
{
    char name[FLEET_BUS_NODE_NAMES];
    const struct config *config = &house->config;
    enum status status = STATUS_OK;
    struct str value;
    if (config->n_store == 0)
        return STATUS_OK;
    bool is_node = house->node != NULL;
    if (is_node)
        status = fleet_bus_own_address(&house->others, config, name, fault);
    else
        snprintf(name, sizeof name, "%016llx", (unsigned long long)rng_system());
    str_init(&value);
    cluster_members_write_node(&value, house->n_engines, SHOAL_VERSION, NULL, 0);
    if (status == STATUS_OK)
        status = fleet_store_open(&house->store, config, is_node ? "node" : "gateway", name,
                                  value.at, fault);
    str_free(&value);
    if (status == STATUS_OK)
        fleet_follow_open(&house->follow, house->store.prefix);
    return status;
}

/* ---- Models that the store defines. ---- */

static bool is_changing(void *self)
{
    return wire_is_changing(self);
}

static void joined(void *self, enum status status, const struct fault *fault, int service)
{
    struct house *house = self;
    (void)service;
    fleet_follow_joined(&house->follow, status, fault, time_now_ns());
    wake_up(&house->kick);
}

static enum status join(void *self, const struct config_model *model, uint16_t life, int replaced,
                        struct fault *fault)
{
    struct wire_change change = {
        .adds = model, .n_adds = 1, .life = life, .done = joined, .self = self
    };
    if (replaced >= 0)
        change.removes[change.n_removes++] = replaced;
    return wire_change(self, &change, fault);
}

static void leave(void *self, int service)
{
    wire_remove_model(self, service);
}

static void take_news(void *self, const struct store_news *news, int64_t now_ns)
{
    (void)now_ns;
    fleet_follow_take(&((struct house *)self)->follow, news);
}

/* Its entry in the store says which models it can't use, and why. */
static void tell_refused(struct house *house)
{
    struct cluster_members_refused refused[CLUSTER_MEMBER_REFUSED_MAX];
    struct str value;
    if (!house->follow.has_refusals)
        return;
    house->follow.has_refusals = false;
    str_init(&value);
    cluster_members_write_node(&value, house->n_engines, SHOAL_VERSION, refused,
                               fleet_follow_refused(&house->follow, refused));
    cluster_member_set(&house->store.member, value.at);
    str_free(&value);
}

/* Requests end that are held for a model which no engine could load, as the manager says. */
static void end_broken(struct house *house, int64_t now_ns)
{
    const struct cluster_members *members = &house->store.members;
    bool is_by_path;
    for (int i = 0; i < members->n_broken; i++) {
        const struct cluster_members_refused *broken = &members->broken[i];
        int s = wire_find_model(house, broken->name, &is_by_path);
        if (s < 0 ||
            cluster_gateway_take_broken(house->gateway, s, broken->cause, broken->why) == 0)
            continue;
        if (house->broken_told_ns + TIME_NS_PER_S <= now_ns)
            log_line(LOG_WARN, "serve", "requests for %s end, since no engine could load it: %s",
                     broken->name, broken->why);
        house->broken_told_ns = now_ns;
    }
}

int64_t wire_cluster_step(struct house *house, int64_t now_ns)
{
    if (house->store.store == NULL)
        return TIME_NEVER;
    int64_t boot_ns = time_boot_ns();
    const struct fleet_follow_port models = { .self = house,
                                              .config = &house->config,
                                              .offers = house->offers,
                                              .leave_ns = house->node != NULL ? NODE_LEAVE_NS : 0,
                                              .is_busy = is_changing,
                                              .join = join,
                                              .leave = leave };
    int64_t wake_ns = cluster_membership_step(&house->store, boot_ns, take_news, house);
    cluster_peers_follow(&house->others.peers, &house->store.members);
    int64_t follow_ns = fleet_follow_step(&house->follow, &models, now_ns);
    tell_refused(house);
    wire_wishes_step(house);
    end_broken(house, now_ns);
    wake_ns = wake_ns == TIME_NEVER ? TIME_NEVER : now_ns + max_i64(wake_ns - boot_ns, 0);
    return min_i64(wake_ns, follow_ns);
}
