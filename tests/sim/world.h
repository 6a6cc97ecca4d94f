/* A simulated cluster: the managers, gateways and nodes that `shoal` runs, on virtual time, over
 * connections (wires.h) and a store (store/model.h) that fail. Everything follows from the seed.
 *
 * The real ones are: election, fences, membership, places of nodes, manager, gateway, node, engine,
 * KV pool and scheduler. Modelled are the network, the store, the executor and the disks, whose
 * files of fences are real ones in a folder of the run. */
#pragma once
#include "wires.h"

#include "base/map.h"
#include "cluster/elected.h"
#include "cluster/gateway.h"
#include "sim/bus_engine.h"
#include "store/model.h"

enum { WORLD_SERVICES = 3, WORLD_TTL_S = 5, WORLD_PROCESSES_MAX = 2048 };

/* A fault of the code under test that is planted, so that a check has to find it. */
enum world_plant {
    PLANT_NOTHING,
    PLANT_ENDED_TWICE,   /* a client is told an end twice */
    PLANT_TOKEN_LOST,    /* a gateway passes on an answer with a hole */
    PLANT_TOKEN_OTHER,   /* a token is another one */
    PLANT_OLD_EPOCH,     /* a node forgets which manager it obeyed */
    PLANT_OTHER_MANAGER, /* a node carries out an order that its manager did not send */
    PLANT_TWO_ACT,       /* two managers act at once */
    PLANT_LEAK,          /* an engine has a request that its node does not know */
    PLANT_FILE,          /* a node leaves a file behind */
    PLANT_LEASE,         /* a lease that nothing uses is kept */
    PLANT_NO_LOAD,       /* a node never loads a model */
    PLANTS,
};
struct world_planted {
    const char *name;
    const char *words; /* of the check that has to find it */
};
extern const struct world_planted world_planted[PLANTS];

struct world_options {
    uint64_t seed;
    int n_managers, n_gateways, n_nodes, n_engines; /* engines of each node */
    int64_t report_ns, delay_ns;
    double rate_per_s;           /* of requests, at each gateway */
    double loss;                 /* of messages within connections, until the faults heal */
    double store_loss;           /* of calls to the store */
    int64_t crash_ns;            /* mean time between crashes of an engine; 0: none */
    bool same_ids;               /* gateways give the same ids to their requests */
    bool is_still;               /* nothing is drawn for the faults, as for figures */
    const char *router, *policy; /* NULL: least, value */
    const char *thresholds[8];   /* of the router, NAME=X */
    struct service_slo slo;
    uint32_t n_requests_max; /* of an engine; 0: 16 */
    int64_t row_ps;          /* of a step, for each request in it; 0: as the model has it */
    bool has_one_model;      /* all requests are for the first one, and none has a deadline */
    bool hides_others;       /* gateways do not learn of one another's requests */
    enum world_plant plant;
    bool is_told; /* faults are printed */
};

enum world_kind { WORLD_MANAGER, WORLD_GATEWAY, WORLD_NODE };
struct world_request {
    bool is_open, is_cancelled;
    uint64_t id, seed;
    int32_t n_prompt, n_tokens, n_tokens_max;
    int64_t arrived_ns, deadline_ns, cancel_ns; /* of virtual time */
    int64_t first_ns, ended_ns;                 /* 0: not yet */
};
struct world_engine { /* an engine's face, whose orders are checked */
    struct cluster_engine face;
    struct world_process *node;
};
struct world_process {
    struct world *world;
    enum world_kind kind;
    int index;
    char address[32], folder_file[256];
    bool is_up, is_member_cut;      /* it can't reach the store */
    int64_t offset_ns;              /* its clock less virtual time */
    int64_t paused_until_ns, up_ns; /* up_ns: it starts again; 0: it does not, or is up */
    uint64_t n_lives;
    struct store_id id; /* of a manager's present life */
    struct store *store;
    struct cluster_membership membership;
    struct cluster_peers peers; /* of a gateway or manager */
    struct store_fence fence;   /* of a node or manager */
    struct cluster_elected *elected;
    struct cluster_gateway *gateway;
    struct service door;
    struct map open; /* a gateway's requests: by id, places in world.requests */
    uint64_t n_asked;
    int64_t next_ask_ns;
    struct cluster_node *node;
    struct world_engine *engines; /* (n_engines) */
    struct sim_bus_host host;
    struct sim_options sim_options;
    struct sim_faults sim_faults;
    struct sim_report sim_report;
    struct workload workload;
    struct store_stamp obeyed; /* the fence, as the checks saw it last */
    bool may_differ;           /* an operator adopted a life, or its disk was lost */
    uint64_t cpu_ns;           /* of its steps */
    int64_t n_steps;
};
struct world_count {
    int64_t n_asked, n_answered, n_cancelled, n_late, n_refused, n_gone; /* gone with a gateway */
    int64_t n_tokens, n_orders, n_terms, n_faults, n_restarts;
    int64_t healed_ns; /* from the end of the faults until all was well again */
};
struct world {
    struct world_options options;
    int n_processes;
    struct world_process *processes; /* managers, gateways, nodes */
    struct wires *wires;
    struct store_model *store;
    struct service_spec services[WORLD_SERVICES];
    int64_t need_bytes[WORLD_SERVICES];
    struct sim_service sim_services[WORLD_SERVICES];
    struct rng rng;
    int64_t now_ns, began_ns;
    struct world_request *requests;
    uint32_t n_requests, n_requests_room;
    struct request_body *body; /* scratch */
    char folder[128];
    bool is_healed, asks_nothing;
    bool has_lost_history; /* the store did: two managers may believe that they lead */
    bool is_planted;       /* the planted fault has happened */
    struct world_faults *faults;
    struct world_count count;
    char wrong[256]; /* "": no check failed */
};

/* world.c */
struct world *world_open(const struct world_options *options);
void world_close(struct world *world);
void world_run(struct world *world, int64_t until_ns);
void world_wrong(struct world *world, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Prints a line about a fault, if that is asked for. */
void world_tell(const struct world *world, const char *fmt, ...) PRINTF_LIKE(2, 3);
void world_start(struct world *world, int process);
/* is_silent: as wires_stop. */
void world_stop(struct world *world, int process, bool is_silent);

/* world_process.c: one process. */
void world_process_start(struct world_process *process);
void world_process_stop(struct world_process *process);
/* Returns the next wake, of virtual time. */
int64_t world_process_step(struct world_process *process);

/* world_clients.c: the clients of gateways. */
void world_clients_ask(struct world_process *gateway);
void world_clients_hear(struct world_process *gateway);
void world_clients_lose(struct world_process *gateway); /* it died */
/* Returns the token that a request of this seed has at this position. */
int32_t world_token(uint64_t seed, int32_t position);

/* world_faults.c */
void world_faults_open(struct world *world);
void world_faults_close(struct world *world);
int64_t world_faults_next_ns(const struct world *world);
void world_faults_step(struct world *world);
void world_faults_heal(struct world *world); /* no more faults, and all is repaired */

/* world_checks.c */
void world_checks_node(struct world_process *node); /* after its step */
/* An engine gets an order. */
void world_checks_order(struct world_process *node, const char *what);
void world_checks_managers(struct world *world);
/* Returns NULL when all is well: a manager leads and may plan, all nodes obey it, every model is
 * loaded, and requests from before `since_ns` are over. Otherwise what is missing. */
const char *world_checks_progress(struct world *world, int64_t since_ns);
/* Prints the state of all processes, if that is asked for. */
void world_checks_tell(const struct world *world);
void world_checks_leaks(struct world *world); /* after all requests are over */

/* Runs a seed from start to end: faults, healing, quiet. Returns whether all checks held;
 * otherwise world.wrong says which did not. */
bool world_seed(struct world *world);
