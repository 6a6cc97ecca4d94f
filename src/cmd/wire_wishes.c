/* Obeys operators that pause and pin models. */
#include "cmd/wire_wishes.h"

#include "base/log.h"
#include "cluster/manager_plan.h"
#include "cmd/wire_house.h"
#include <stdio.h>

static bool is_paused(void *self, uint16_t service)
{
    const struct house *house = self;
    return set_has(&house->wishes.paused, service);
}

static bool pinned(void *self, uint16_t service, char out[API_PIN_BYTES])
{
    const struct house *house = self;
    int engine = house->wishes.pins[service] - 1;
    if (house->store.store == NULL) {
        snprintf(out, API_PIN_BYTES, "engine %d", engine);
        return engine >= 0;
    }
    const struct cluster_members_model_wish wish =
        cluster_members_model(&house->store.members, house->offers[service].service.name);
    if (wish.pin_engine >= 0)
        snprintf(out, API_PIN_BYTES, "node %s engine %d", wish.pin, wish.pin_engine);
    else
        snprintf(out, API_PIN_BYTES, "node %s", wish.pin);
    return wish.pin[0] != '\0';
}

static void set_paused(struct house *house, int service, bool is_paused_)
{
    if (set_has(&house->wishes.paused, service) == is_paused_)
        return;
    if (is_paused_)
        set_add(&house->wishes.paused, service);
    else
        set_remove(&house->wishes.paused, service);
    if (house->manager != NULL)
        cluster_manager_plan_pause(house->manager, service, is_paused_);
    log_line(LOG_INFO, "serve", "model %s %s", house->offers[service].service.name,
             is_paused_ ? "is paused: it takes no new requests" : "takes requests again");
}

static enum status check_alone(const struct house *house, const char *verb, struct fault *fault)
{
    if (house->config.n_store == 0)
        return STATUS_OK;
    return fault_set(fault, STATUS_UNSUPPORTED,
                     "this cluster's wishes are in its store: use `shoal %s` with --store", verb);
}

static enum status pause_model(void *self, uint16_t service, bool is_paused_, struct fault *fault)
{
    struct house *house = self;
    enum status status = check_alone(house, is_paused_ ? "pause" : "unpause", fault);
    if (status == STATUS_OK)
        set_paused(house, service, is_paused_);
    return status;
}

static enum status pin(void *self, uint16_t service, int engine, struct fault *fault)
{
    struct house *house = self;
    enum status status = check_alone(house, engine >= 0 ? "pin" : "unpin", fault);
    if (status == STATUS_OK && house->n_engines == 0)
        status = fault_set(fault, STATUS_UNSUPPORTED,
                           "a gateway has no engines: pin or unpin the model at its node");
    if (status == STATUS_OK && engine >= house->n_engines)
        status = fault_set(fault, STATUS_BAD_INPUT, "engine: there is no engine %d, only 0 to %d",
                           engine, house->n_engines - 1);
    if (status == STATUS_OK && engine >= 0 &&
        !service_spec_allows(&house->offers[service].service.engines, engine))
        status = fault_set(fault, STATUS_BAD_INPUT,
                           "engine: the configuration does not let model %.80s run on engine %d",
                           house->offers[service].service.name, engine);
    if (status != STATUS_OK)
        return status;
    house->wishes.pins[service] = engine + 1;
    if (engine >= 0)
        cluster_manager_plan_pin(house->manager, service, 0, engine);
    else
        cluster_manager_plan_unpin(house->manager, service);
    return STATUS_OK;
}

struct api_wishes wire_wishes(struct house *house)
{
    return (struct api_wishes){ house, is_paused, pinned, pause_model, pin };
}

void wire_wishes_step(struct house *house)
{
    const struct cluster_members *members = &house->store.members;
    if (house->store.store == NULL || house->wishes.n_changes == members->n_changes)
        return;
    house->wishes.n_changes = members->n_changes;
    for (int s = 0; s < house->n_services; s++)
        if (house->offers[s].state == OFFER_THERE)
            set_paused(house, s,
                       cluster_members_model(members, house->offers[s].service.name).is_paused);
}

void wire_wishes_forget(struct house *house, int service)
{
    set_remove(&house->wishes.paused, service);
    house->wishes.pins[service] = 0;
    house->wishes.n_changes = 0; /* the store may have wishes on it */
    if (house->manager == NULL)
        return;
    cluster_manager_plan_pause(house->manager, service, false);
    cluster_manager_plan_unpin(house->manager, service);
}
