/* A manager's monitor: the window of the traffic while it leads, its file in state_dir, and what it
 * tells over HTTP (fleet/endpoint.h). */
#pragma once
#include "monitor/gather.h"
#include "monitor/keeper.h"
#include "monitor/tell.h"

struct config;
struct engine_report;
struct fleet_bus;
struct fleet_models;
struct message_demand;
struct fleet_monitor {
    const struct fleet_models *models; /* lent */
    const struct fleet_bus *bus;
    struct monitor_keeper *keeper; /* of the file */
    struct monitor_gather gather;  /* while `leads` */
    bool leads;
    uint64_t n_asked;  /* questions to the keeper; the answer to the last one restores the window */
    int64_t asked_ns;  /* 0: no answer is waited for */
    int64_t n_written; /* bins of the window that are in the file */
    int64_t seen_ns, tidied_ns, bin_ns;
};
/* Opens the file, by a thread of its own. When it can't be kept, a line of the log says so, and the
 * monitor goes on. */
void fleet_monitor_open(struct fleet_monitor *monitor, const struct config *config,
                        const struct fleet_models *models, const struct fleet_bus *bus);
void fleet_monitor_close(struct fleet_monitor *monitor);
/* Begins a window when this manager is elected. If the file has a window of the last minute, this
 * goes on with it, as soon as it was read. */
void fleet_monitor_begin(struct fleet_monitor *monitor, int64_t now_ns);
void fleet_monitor_end(struct fleet_monitor *monitor);
/* Begins with nothing for a service that has just joined. */
void fleet_monitor_forget(struct fleet_monitor *monitor, int service);
void fleet_monitor_heard(struct fleet_monitor *monitor, int service,
                         const struct message_demand *message, int64_t now_ns);
/* Takes the engines' last reports once a second, and writes bins that are over. */
void fleet_monitor_step(struct fleet_monitor *monitor, const struct engine_report *reports,
                        int n_engines, int64_t now_ns);
struct monitor_names fleet_monitor_names(const struct fleet_monitor *monitor);
