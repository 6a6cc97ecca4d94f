/* A manager's view of the models: those of its configuration, and those that operators deploy while
 * it runs. It has their definitions, and the memory that each needs, estimated until an engine has
 * loaded it.
 *
 *   VACANT --a thread reads its file--> OPENING --> THERE --undeployed--> LEAVING --> GOING -->
 * VACANT
 *
 * GOING: the leading manager sends it out of all engines. A manager that does not lead goes from
 * LEAVING to VACANT. */
#pragma once
#include "serve/offer.h"
#include <stdatomic.h>

struct cluster_manager;
struct thread;

struct fleet_models {
    struct serve_offer offers[LIMIT_MODELS];
    struct service_spec services[LIMIT_MODELS]; /* of those that are THERE, LEAVING or GOING */
    int64_t need_bytes[LIMIT_MODELS];
    int64_t kept_bytes;          /* of each engine's memory, for a block of KV */
    int n;                       /* one more than the highest number that a service ever had */
    const struct config *config; /* lent */
    /* The model that is being read, and what it replaces; -1: none. Its thread owns the offer. */
    int opening, replaced;
    _Atomic bool is_opened;
    struct thread *opener;
    struct config_model model;
    uint16_t life;
    enum status status;
    struct fault fault;
};
/* Reads the models' files. */
enum status fleet_models_open(struct fleet_models *models, const struct config *config,
                              struct fault *fault) MUST_USE;
void fleet_models_close(struct fleet_models *models);
/* Returns whether the service is there, and is not leaving. */
bool fleet_models_is_there(const struct fleet_models *models, int service);
/* Begins to read a model's file, whose texts must stay until the end; another one leaves when it is
 * there (replaced; -1: none). One at a time. */
enum status fleet_models_begin(struct fleet_models *models, const struct config_model *model,
                               uint16_t life, int replaced, struct fault *fault) MUST_USE;
bool fleet_models_is_opening(const struct fleet_models *models);
/* Returns true when the reading has ended, once. models->status and fault tell how. *service: the
 * new one, -1 after a fault. */
bool fleet_models_end(struct fleet_models *models, int *service);
void fleet_models_leave(struct fleet_models *models, int service);
/* Moves models on that leave; manager: NULL when this one does not lead. */
void fleet_models_step(struct fleet_models *models, struct cluster_manager *manager);
