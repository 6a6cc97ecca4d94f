/* Packed weights of models, in sealed memory that the parent owns, for all engines of the machine
 * that pack alike.
 *
 *   (none) --wanted--> WAITS --its turn--> PACKING --loader done, sealed--> READY
 *                                             |                               |
 *                                             +--failed--> FAILED             |
 *   (none) <------------- no engine uses it any more -------------------------+
 *
 * A loader (process/loader.h), which is a process of its own, reads the model's file and packs it
 * into a memfd. When it has ended, the memory is sealed, so that no process can change it. Engines
 * map it; it outlives those that crash, so that a restart packs nothing. One loader runs at a time,
 * since it uses all cores. */
#pragma once
#include "process/options.h"

struct process_weights;
struct process_weights *process_weights_open(const struct process_device *device, int epoll_fd);
void process_weights_close(struct process_weights *weights);
void process_weights_step(struct process_weights *weights);
/* Returns whether engines on these devices, cores or groups of them, can use one store: they pack a
 * model alike. */
bool process_weights_are_shared(const struct device_spec *one, const struct device_spec *other);

struct process_weights_want {
    int engine, service;
    uint16_t life; /* of the service */
    const char *path;
    int64_t n_bytes; /* packed */
};
enum process_weights_state { PROCESS_WEIGHTS_WAITS, PROCESS_WEIGHTS_READY, PROCESS_WEIGHTS_FAILED };
struct process_weights_answer {
    enum process_weights_state state;
    struct run_unit_lent lent; /* of READY: its descriptor stays the store's */
    enum status status;        /* of FAILED, with the reason */
    struct fault fault;
};
/* The engine uses the weights from now on, until it releases them or they have FAILED. Call it
 * again while the answer is WAITS. */
void process_weights_use(struct process_weights *weights, const struct process_weights_want *want,
                         struct process_weights_answer *answer);
void process_weights_release(struct process_weights *weights, int engine, int service);
int process_weights_percent(const struct process_weights *weights, int service);
