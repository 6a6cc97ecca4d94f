/* The parts of a house, for wire.c, which builds it, and wire_join.c, which changes its models
 * while it runs. Other files include cmd/wire.h and cmd/wire_join.h. */
#pragma once
#include "api/api.h"
#include "base/wake.h"
#include "cluster/gateway.h"
#include "cluster/manager.h"
#include "cluster/node.h"
#include "fleet/bulk.h"
#include "fleet/bus.h"
#include "cmd/wire_change.h"
#include "fleet/follow.h"
#include "fleet/store.h"
#include "config/chosen.h"
#include "cmd/gpu.h"
#include "config/lanes.h"
#include "cmd/wire_unit.h"
#include "grammar/cache.h"
#include "serve/disk.h"
#include "serve/kv.h"
#include "serve/memory.h"
#include "serve/offer.h"
#include "serve/recorders.h"

struct nvml;
struct thread;

struct engine_place { /* one engine of the house */
    struct device_spec device_spec;
    struct compute_device *device;
    struct lanes lanes;
    struct gpu_facts gpu;                       /* of a GPU */
    struct service_spec services[LIMIT_MODELS]; /* the house's, as placed here */
    struct wire_unit unit;
};
/* A change of the models, one at a time:
 *
 *   NONE --begun--> OPENING --all files read--> ADDING --all engines have all--> NONE, committed
 *    ^                 |                          |
 *    +-----------------+------- one failed -------+ */
enum wire_phase { WIRE_NONE, WIRE_OPENING, WIRE_ADDING };
struct wire_join {
    enum wire_phase phase; /* in OPENING, the opener's thread owns the added offers, except for
                              their states, and the fields after opener */
    _Atomic bool is_opened;
    struct thread *opener;
    struct wire_change change; /* as begun; its models are copied, except for their texts */
    struct config_model models[LIMIT_MODELS];
    int offers[LIMIT_MODELS]; /* (change.n_adds) of the added ones */
    int n_opened;
    uint16_t life; /* of the model that joined last */
    struct fault fault;
    enum status status;
};
struct wire_wishes {        /* of operators */
    struct set paused;      /* services that take no new requests */
    int pins[LIMIT_MODELS]; /* engine + 1 that the service is pinned to; 0: none */
    uint64_t n_changes;     /* of the store's members that `paused` follows */
};
struct house {
    struct config config;                    /* shares its texts with the caller's */
    struct serve_offer offers[LIMIT_MODELS]; /* by service */
    int n_services; /* one more than the highest number that a service ever had */
    int32_t n_tokens_max;
    struct serve_kv kv;
    struct serve_memory memory;
    struct chosen chosen;
    struct engine_place engines[LIMIT_DEVICES];
    int n_engines;
    struct process_weights *weights[LIMIT_DEVICES]; /* of engines that are processes, by the first
                                                       one of those that share it */
    struct nvml *nvml;               /* by engine; NULL: no GPU, or no library */
    struct fleet_bulk bulk;          /* of KV and files, to other engines and nodes */
    struct recorders recorders;
    char device_texts[LIMIT_DEVICES][64];
    const char *device_names[LIMIT_DEVICES];
    struct grammar_cache *grammars; /* of the API's workers and the engines */
    struct fleet_bus others;        /* the bus to other machines */
    struct cluster_membership store;
    struct fleet_follow follow; /* of the models that the store defines */
    int64_t broken_told_ns;
    struct store_fence fence; /* of a node with a store: the managers that it obeyed */
    struct cluster_local_bus *bus;
    struct cluster_gateway *gateway;
    struct cluster_manager *manager;
    struct cluster_node *node;
    struct api *api; /* notified of changes of the models; NULL: none is open yet */
    struct wire_join join;
    struct wire_wishes wishes;
    int epoll_fd;
    struct wake kick; /* something changed: wire_step is wanted */
};
/* Rows of a batch: prompt chunks and decodes. */
int32_t wire_house_rows_max(const struct config *config);
struct serve_offer_options wire_house_offer_options(struct house *house, bool is_by_path);
/* Refuses a model that must be there at start and has more bytes than any engine that may serve
 * it. */
enum status wire_house_check_bytes(const struct house *house, const struct serve_offer *offer,
                                   struct fault *fault);
/* Learn what the engines' devices are, and print what is known of them. */
void wire_devices_open(struct house *house);
void wire_devices_close(struct house *house);
void wire_devices_metrics(const struct house *house, struct str *out);
