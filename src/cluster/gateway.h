/* A gateway: a core/service over the bus. It keeps every request until its end, holds those whose
 * model is not loaded, routes the rest, and submits returned ones again. A client sees a pause, but
 * no break.
 *
 *   HELD --routed--> SENT --ENDED--> gone    HELD --cancelled, deadline, hold bound--> ended by the
 *     ^----RETURNED, taken back----|                                                  gateway
 *
 * A request is taken back when its session ends (cluster/link.h) or when something of its answer is
 * missing. ENDED, RETURNED and tokens count only at the next expected position.
 *
 * It tokenizes nothing. The same thread calls the service, the control and cluster_gateway_step. */
#pragma once
#include "cluster/gateway_options.h"
#include "core/control.h"
#include "core/service.h"

struct cluster_gateway;
struct cluster_gateway *cluster_gateway_open(const struct cluster_gateway_options *options);
void cluster_gateway_close(struct cluster_gateway *gateway);
struct service cluster_gateway_service(struct cluster_gateway *gateway);
struct control cluster_gateway_control(struct cluster_gateway *gateway);
/* Adds a service, under an unused number. Requests of it may arrive from here on. */
void cluster_gateway_add_service(struct cluster_gateway *gateway, int service,
                                 const struct service_spec *spec);
/* Removes a service. Returns false when it still has requests, including those whose end was not
 * reported yet. */
bool cluster_gateway_remove_service(struct cluster_gateway *gateway, int service);
/* A model could not be loaded on any engine. Requests that are held for it and have no other place
 * end: with the sentence when it never fits (TOO_LARGE), otherwise as LOAD_FAILED, since clients
 * don't see faults of files. Returns how many ended. */
uint32_t cluster_gateway_take_broken(struct cluster_gateway *gateway, int service,
                                     enum status cause, const char *why);
uint32_t cluster_gateway_n_requests_of(const struct cluster_gateway *gateway, int service);
/* Sets the time at which the service's next takes mail; spans in messages count from it. Without
 * this call it is the time of the last step. */
void cluster_gateway_hears_at(struct cluster_gateway *gateway, int64_t now_ns);
int64_t cluster_gateway_step(struct cluster_gateway *gateway,
                             int64_t now_ns); /* routes; next wake */
/* Returns the mirror of the engines: the last report of each. */
const struct engine_report *cluster_gateway_reports(const struct cluster_gateway *gateway,
                                                    int *n_engines);
/* Returns the length predictor's data, and its quality. */
const struct length_book *cluster_gateway_lengths(const struct cluster_gateway *gateway);
/* Returns the requests that the router sent although it expects them to miss a target. */
int64_t cluster_gateway_n_forced(const struct cluster_gateway *gateway);
/* Something changed since the last step: step soon. */
bool cluster_gateway_is_dirty(const struct cluster_gateway *gateway);
uint32_t cluster_gateway_n_requests(const struct cluster_gateway *gateway);
bool cluster_gateway_is_sound(
    const struct cluster_gateway *gateway); /* full self-check of lists and counts */
