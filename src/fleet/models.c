/* Reads the models that a manager places. */
#include "fleet/models.h"

#include "base/log.h"
#include "base/team.h"
#include "cluster/manager.h"
#include "config/chosen.h"
#include "cpu/cpu.h"
#include "fetch/stop.h"
#include "serve/kv.h"

static const int64_t POOL_BYTES_USUAL = INT64_C(1) << 30; /* when the key `memory` is not set */

/* The bytes of packed weights are those of a CPU, since only it is at hand. */
static enum status open_offer(struct fleet_models *m, int s, const struct config_model *model,
                              uint16_t life, struct fault *fault)
{
    struct device_spec spec;
    enum status status = device_parse("cpu:0", 1, &spec, fault);
    if (status != STATUS_OK)
        return status;
    struct compute_device *device = cpu_open(&spec, cpu_isa_best());
    struct serve_offer_options options = { .config = m->config,
                                           .n_rows_max = (int32_t)m->config->n_batch_max,
                                           .life = life };
    for (int e = 0; e < LIMIT_DEVICES; e++)
        options.devices[e] = device;
    status = serve_offer_open(&m->offers[s], s, model, &options, fault);
    device->close(device->self);
    return status;
}

static void take(struct fleet_models *m, int s)
{
    m->offers[s].state = OFFER_THERE;
    m->n = max_i32(m->n, s + 1);
    m->services[s] = m->offers[s].service;
    m->services[s].engines = (struct set){ { 0 } }; /* any node's */
    m->need_bytes[s] = m->offers[s].need_bytes;
}

enum status fleet_models_open(struct fleet_models *m, const struct config *config,
                              struct fault *fault)
{
    struct kv_shape shapes[LIMIT_MODELS];
    struct chosen chosen;
    struct serve_kv kv;
    m->config = config;
    m->opening = m->replaced = -1;
    if (config->n_models == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "no models: give --model NAME=PATH or a configuration");
    for (int s = 0; s < config->n_models; s++) {
        enum status status = open_offer(m, s, &config->models[s], 0, fault);
        if (status != STATUS_OK)
            return status;
        take(m, s);
        shapes[s] = m->offers[s].shape;
    }
    chosen_of(config, &chosen);
    int64_t pool_bytes = config->memory_bytes > 0 ? config->memory_bytes : POOL_BYTES_USUAL;
    if (serve_kv_choose(config, chosen.kv_kind, pool_bytes, shapes, &kv, NULL) == STATUS_OK)
        m->kept_bytes = kv.unit_bytes;
    return STATUS_OK;
}

static void join_opener(struct fleet_models *m)
{
    if (m->opener != NULL)
        thread_join(m->opener);
    m->opener = NULL;
}

void fleet_models_close(struct fleet_models *m)
{
    fetch_stop(); /* the process ends */
    join_opener(m);
    for (int s = 0; s < LIMIT_MODELS; s++)
        serve_offer_close(&m->offers[s]);
}

bool fleet_models_is_there(const struct fleet_models *m, int service)
{
    return m->offers[service].state == OFFER_THERE;
}

/* ---- Models that join. ---- */

static void open_model(void *arg)
{
    struct fleet_models *m = arg;
    m->status = open_offer(m, m->opening, &m->model, m->life, &m->fault);
    atomic_store(&m->is_opened, true);
}

/* Returns a number that no service ever had, or a vacant one; -1: there is none. */
static int free_number(const struct fleet_models *m)
{
    if (m->n < LIMIT_MODELS)
        return m->n;
    for (int s = 0; s < LIMIT_MODELS; s++)
        if (m->offers[s].state == OFFER_VACANT)
            return s;
    return -1;
}

enum status fleet_models_begin(struct fleet_models *m, const struct config_model *model,
                               uint16_t life, int replaced, struct fault *fault)
{
    int s = free_number(m);
    CHECK(!fleet_models_is_opening(m));
    if (s < 0)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "a manager has at most %d models, those that are still leaving included",
                         (int)LIMIT_MODELS);
    m->model = *model;
    m->life = life;
    m->opening = s;
    m->replaced = replaced;
    m->fault.text[0] = '\0';
    m->offers[s].state = OFFER_OPENING;
    atomic_store(&m->is_opened, false);
    m->opener = thread_start("opener", open_model, m);
    return STATUS_OK;
}

bool fleet_models_is_opening(const struct fleet_models *m)
{
    return m->opening >= 0;
}

bool fleet_models_end(struct fleet_models *m, int *service)
{
    int s = m->opening;
    if (s < 0 || !atomic_load(&m->is_opened))
        return false;
    join_opener(m);
    m->opening = -1;
    *service = m->status == STATUS_OK ? s : -1;
    if (m->status != STATUS_OK) {
        m->offers[s] = (struct serve_offer){ 0 };
        return true;
    }
    m->offers[s].is_defined = true;
    take(m, s);
    if (m->replaced >= 0)
        fleet_models_leave(m, m->replaced);
    log_line(LOG_INFO, "manager", "model %s is deployed: %s", m->services[s].name,
             m->offers[s].model.path);
    return true;
}

void fleet_models_leave(struct fleet_models *m, int service)
{
    if (m->offers[service].state == OFFER_THERE)
        m->offers[service].state = OFFER_LEAVING;
}

void fleet_models_step(struct fleet_models *m, struct cluster_manager *manager)
{
    for (int s = 0; s < m->n; s++) {
        struct serve_offer *offer = &m->offers[s];
        if (offer->state == OFFER_LEAVING && manager != NULL) {
            cluster_manager_dismiss_service(manager, s);
            offer->state = OFFER_GOING;
        }
        bool is_out = offer->state == OFFER_LEAVING || offer->state == OFFER_GOING;
        if (!is_out || (manager != NULL && !cluster_manager_remove_service(manager, s)))
            continue;
        log_line(LOG_INFO, "manager", "model %s is gone", m->services[s].name);
        serve_offer_close(offer);
        m->services[s] = (struct service_spec){ 0 };
        m->need_bytes[s] = 0;
    }
}
