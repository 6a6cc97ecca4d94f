/* Reads the models that a manager places. */
#include "fleet/models.h"

#include "config/chosen.h"
#include "cpu/cpu.h"
#include "serve/kv.h"

static const int64_t POOL_BYTES_USUAL = INT64_C(1) << 30; /* when the key `memory` is not set */

static enum status read_all(struct fleet_models *m, const struct config *config,
                            struct compute_device *device, struct fault *fault)
{
    struct kv_shape shapes[LIMIT_MODELS];
    struct chosen chosen;
    struct serve_kv kv;
    const struct serve_offer_options options = { .config = config,
                                                 .device = device,
                                                 .n_rows_max = (int32_t)config->n_batch_max };
    for (int s = 0; s < config->n_models; s++) {
        enum status status =
            serve_offer_open(&m->offers[s], s, &config->models[s], &options, fault);
        if (status != STATUS_OK)
            return status;
        m->n = s + 1;
        m->services[s] = m->offers[s].service;
        m->services[s].engines = (struct set){ { 0 } }; /* any node's */
        m->need_bytes[s] = m->offers[s].need_bytes;
        shapes[s] = m->offers[s].shape;
    }
    chosen_of(config, &chosen);
    int64_t pool_bytes = config->memory_bytes > 0 ? config->memory_bytes : POOL_BYTES_USUAL;
    if (serve_kv_choose(config, chosen.kv_kind, pool_bytes, shapes, &kv, NULL) == STATUS_OK)
        m->kept_bytes = kv.unit_bytes;
    return STATUS_OK;
}

/* The bytes of packed weights are those of a CPU, since only it is at hand. */
enum status fleet_models_open(struct fleet_models *m, const struct config *config,
                              struct fault *fault)
{
    struct device_spec spec;
    enum status status = device_parse("cpu:0", 1, &spec, fault);
    if (status == STATUS_OK && config->n_models == 0)
        status = fault_set(fault, STATUS_BAD_INPUT,
                           "no models: give --model NAME=PATH or a configuration");
    if (status != STATUS_OK)
        return status;
    struct compute_device *device = cpu_open(&spec, cpu_isa_best());
    status = read_all(m, config, device, fault);
    device->close(device->self);
    return status;
}

void fleet_models_close(struct fleet_models *m)
{
    for (int s = 0; s < m->n; s++)
        serve_offer_close(&m->offers[s]);
}
