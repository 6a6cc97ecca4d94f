/* A manager, and a node that is played by hand. */
#pragma once
#include "cluster/manager.h"
#include "cluster/message.h"

enum { N_ENGINES = 2, N_SERVICES = 3, PORT_GATEWAY, PORT_MANAGER, PORT_NODE, PORTS, KEPT = 50 };

struct scene {
    struct service_spec services[N_SERVICES];
    struct cluster_roster roster; /* of the node */
    struct cluster_local_bus *bus;
    struct cluster_manager *manager;
    struct bus_port node;
    struct engine_report reports[N_ENGINES];
    int64_t now_ns;
    int n_loads[N_ENGINES][N_SERVICES], n_unloads[N_ENGINES][N_SERVICES], n_ousted[N_SERVICES];
    bool is_deaf;                                         /* it obeys no unload */
    int n_broken;                                         /* loads that fail before one succeeds */
    int64_t load_takes_ns, due_ns[N_ENGINES][N_SERVICES]; /* 0: nothing comes */
};

void scene_open(struct scene *s, int64_t memory_bytes); /* the services are set */
void scene_close(struct scene *s);
/* Messages to the manager. */
void scene_say(struct scene *s, int engine, int service, enum service_status status,
               enum status cause);
void scene_want(struct scene *s, int service);
void scene_ask(struct scene *s, uint64_t id, enum control_kind kind, int service);
/* Reports, a step, and the orders are obeyed: they are done at once, loads after load_takes_ns. */
void scene_step(struct scene *s, int64_t span_ns);
