/* Makes the chains of a scenario. */
#include "scenario/chain.h"

#include "base/mem.h"
#include "predict/device.h"
#include "scenario/links_file.h"
#include <stdio.h>
#include <string.h>

enum { BATCH_USUAL = 8, TOKENS_USUAL = 2048, SETTLE_S = 2 };
#define HOST_BYTES_PER_S 24e9

/* ---- Devices that leave, crash and join. ---- */

/* Reads "3@3600s": a device of a chain, and a time. */
static enum status read_event(const char *text, struct sim_chain_event *event, struct fault *fault)
{
    char number[16];
    size_t n = strcspn(text, "@");
    int64_t device = -1;
    snprintf(number, sizeof(number), "%.*s", (int)(n < 15 ? n : 15), text);
    if (text[n] != '@' || !parse_i64(number, &device) || device < 0 || device > INT16_MAX ||
        !parse_duration_ns(text + n + 1, &event->at_ns) || event->at_ns < 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "\"%.40s\" is no device of a chain and a time, as 3@3600s", text);
    event->device = (int32_t)device;
    return STATUS_OK;
}

/* Reads all rows, in order of time. At one instant devices leave before others join. */
static enum status read_events(const struct scenario *s, struct sim_chain_event *events, int32_t *n,
                               struct fault *fault)
{
    const struct flags_texts *const lists[] = { [SIM_CHAIN_LEAVES] = &s->devices_leave,
                                                [SIM_CHAIN_CRASHES] = &s->devices_crash,
                                                [SIM_CHAIN_JOINS] = &s->devices_join };
    *n = 0;
    for (size_t what = 0; what < COUNT_OF(lists); what++) {
        for (int i = 0; i < lists[what]->n; i++) {
            struct sim_chain_event event = { .what = (enum sim_chain_what)what };
            enum status status = read_event(lists[what]->at[i], &event, fault);
            if (status != STATUS_OK)
                return status;
            int32_t at = (*n)++;
            for (; at > 0 && events[at - 1].at_ns > event.at_ns; at--)
                events[at] = events[at - 1];
            events[at] = event;
        }
    }
    return STATUS_OK;
}

static size_t n_events_max(const struct scenario *s)
{
    return (size_t)(s->devices_leave.n + s->devices_crash.n + s->devices_join.n) + 1;
}

enum status scenario_chain_check(const struct scenario *s, int32_t n_devices, struct fault *fault)
{
    struct sim_chain_event *events = mem_take(n_events_max(s) * sizeof(*events));
    int32_t n;
    enum status status = read_events(s, events, &n, fault);
    for (int32_t i = 0; i < n && status == STATUS_OK; i++)
        if (events[i].device >= n_devices)
            status = fault_set(fault, STATUS_NOT_FOUND,
                               "device %d leaves, crashes or joins: the chains of `engines:` have "
                               "%d, counted from 0",
                               events[i].device, n_devices);
    mem_give(events);
    return status;
}

/* ---- One chain. ---- */

static enum status make_devices(struct scenario_chain_made *made,
                                const struct scenario_chain_ask *ask, struct fault *fault)
{
    const struct scenario_group *group = ask->group;
    const struct predict_model *m = ask->model;
    int32_t n = group->chain.n;
    int64_t table_bytes = (m->is_tied ? 1 : 2) * 2 * (int64_t)m->n_vocabulary * m->width;
    made->devices = mem_take((size_t)n * sizeof(*made->devices));
    if (group->links == NULL) {
        made->links.n = n;
        made->links.at = mem_take((size_t)n * (size_t)n * sizeof(*made->links.at));
    } else {
        enum status status = links_file_read(group->links, n, &made->links, fault);
        if (status != STATUS_OK)
            return status;
    }
    for (int32_t d = 0; d < n; d++) {
        const struct predict_device *device = predict_device_find(group->chain.at[d]);
        if (device == NULL)
            return fault_set(fault, STATUS_NOT_FOUND,
                             "chain: there is no device \"%.24s\"; there are: %s",
                             group->chain.at[d], predict_device_names());
        struct sim_chain_device *to = &made->devices[d];
        (void)perf_preset(m, device, 1, &to->perf);
        to->memory_bytes = (int64_t)((double)device->memory_bytes * ask->scenario->memory_part);
        to->reserve_bytes = table_bytes;
        made->flops_per_s += device->flops_per_s;
        made->bytes_per_s += device->bytes_per_s;
        made->memory_bytes += to->memory_bytes;
        for (int32_t i = 0; i < n && group->links == NULL; i++)
            made->links.at[d * n + i] =
                (struct links_link){ LINKS_NEIGHBOUR_NS, device->link_bytes_per_s };
    }
    made->chain.layer_bytes = (ask->size.weights_bytes - table_bytes) / m->n_layers;
    return STATUS_OK;
}

static enum status make_events(struct scenario_chain_made *made,
                               const struct scenario_chain_ask *ask, struct fault *fault)
{
    int32_t n, n_own = 0, first = ask->first_device;
    made->events = mem_take(n_events_max(ask->scenario) * sizeof(*made->events));
    enum status status = read_events(ask->scenario, made->events, &n, fault);
    for (int32_t i = 0; i < n && status == STATUS_OK; i++) {
        struct sim_chain_event event = made->events[i];
        event.device -= first;
        if (event.device >= 0 && event.device < ask->group->chain.n)
            made->events[n_own++] = event;
    }
    made->chain.n_events = n_own;
    return status;
}

static enum status check(const struct scenario_chain_ask *ask, struct fault *fault)
{
    const struct scenario_group *group = ask->group;
    const struct scenario *s = ask->scenario;
    if (group->chain.n > LAYERS_DEVICES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "chain: %d devices, at most %d", group->chain.n,
                         LAYERS_DEVICES_MAX);
    if (ask->model == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "chain: it has one service, of a model of the tables");
    if (group->count != 1 || group->tp != 1 || group->device != NULL || group->memory_bytes > 0 ||
        group->role != NULL || group->scale.n + group->shares.n + group->quotas.n > 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "chain: not with count, tp, device, memory, role, scale, shares, quotas");
    if (s->has_bus || s->faults.n > 0 || s->router_groups != NULL || s->log_engine != NULL)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "chain: not with --bus, --router-groups, --log-engine");
    return STATUS_OK;
}

enum status scenario_chain_make(struct scenario_chain_made *made,
                                const struct scenario_chain_ask *ask, struct fault *fault)
{
    const struct scenario_group *group = ask->group;
    const struct layers_planner *planner =
        layers_find(group->planner != NULL ? group->planner : "helr");
    bool is_here[LAYERS_DEVICES_MAX];
    struct layers_plan plan;
    enum status status = check(ask, fault);
    if (status == STATUS_OK && planner == NULL)
        status = fault_set(fault, STATUS_NOT_FOUND,
                           "chain: a planner of layers is helr, he, lr, bgs or even-layers");
    if (status != STATUS_OK)
        return status;
    made->chain = (struct sim_chain){
        .service = ask->service,
        .n_devices = group->chain.n,
        .n_layers = ask->model->n_layers,
        .links = &made->links,
        .kv_bytes_per_token = ask->size.kv_bytes_per_token,
        .weights_bytes = ask->size.weights_bytes,
        .activation_bytes = ask->size.activation_bytes,
        .handed_bytes_per_token = 2 * (int64_t)ask->model->width,
        .n_batch = (int32_t)(group->n_batch > 0 ? group->n_batch : BATCH_USUAL),
        .n_context = (int32_t)(group->n_context > 0 ? group->n_context : TOKENS_USUAL),
        .aim = planner->aim,
        .host_bytes_per_s = HOST_BYTES_PER_S,
        .settle_ns = SETTLE_S * INT64_C(1000000000),
        .stays = ask->scenario->chains_stay,
    };
    status = make_devices(made, ask, fault);
    if (status == STATUS_OK)
        status = make_events(made, ask, fault);
    made->chain.devices = made->devices;
    made->chain.events = made->events;
    if (status != STATUS_OK)
        return status;
    sim_chain_first(&made->chain, is_here);
    int64_t n_tokens = (int64_t)made->chain.n_batch * made->chain.n_context;
    status = sim_chain_plan(&made->chain, is_here, n_tokens, &plan, fault);
    if (status == STATUS_OK)
        sim_chain_perf(&made->chain, &plan, &made->perf);
    return status;
}

void scenario_chain_free(struct scenario_chain_made *made)
{
    mem_give(made->devices);
    mem_give(made->events);
    links_free(&made->links);
}
