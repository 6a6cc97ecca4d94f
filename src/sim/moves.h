/* Moves models from engine to engine: the part of sim/replan.h that happens to engines.
 *
 * A slot is a possible engine: aligned neighbouring devices of a node, 1 to 16. All slots are
 * engines from the beginning, and those that a plan does not use have no models. A move goes from
 * one plan to another:
 *
 *     WHOLE --begin--> CLOSING --all have gone--> BOOKING --rooms are made--> LOADING --> WHOLE
 *
 * Models that leave return their requests to the gateway (door.c), at the end of the running step,
 * and nothing is loaded before all have left. Then the bytes of the arriving models are booked in
 * the engine's ledger (its pool shrinks as requests leave). A model is ready after the time that
 * its bytes take on the way to the devices, and settling. Models of a slot that stay keep running.
 * Requests wait at the gateway, and recompute their KV on their next engine.
 *
 * It is private to this room. */
#pragma once
#include "base/set.h"
#include "place/plan.h"
#include "place/replace.h"

struct sim;
struct sim_slot {
    int32_t node, first_device, n_devices;
    struct set there;  /* services that take requests */
    struct set going;  /* that leave */
    struct set coming; /* that load, not booked yet */
    struct set booked; /* that load */
    int64_t since_ns;  /* something is coming since */
    int64_t ready_ns;  /* it is there then; TIME_NEVER: not known yet */
};
struct sim_moves {
    const struct place_problem *problem;
    const struct replace_config *config;
    const struct replace_links *links;
    struct sim_slot *slots; /* (n) */
    int32_t n;
    int32_t n_going, n_coming;    /* slots that close, that load */
    bool is_moving;               /* from begin until all is there */
    int64_t wake_ns;              /* when the next is loaded; TIME_NEVER */
    int32_t n_devices, n_engines; /* of the plan */
    int64_t devices_since_ns;     /* earlier ones are in the report */
    int64_t *gone_ns; /* (n_services) since when no engine takes it; TIME_NEVER: one does */
    int32_t *n_there; /* (n_services) slots that it is in */
};
/* Slots of a cluster. */
int32_t sim_moves_n_slots(const struct place_problem *problem);
/* slots: (sim_moves_n_slots) by node, size, device. */
void sim_moves_slots(const struct place_problem *problem, struct sim_slot *slots);
/* Returns the plan's group on exactly this slot; NULL: none. */
const struct place_group *sim_moves_group(const struct place_plan *plan,
                                          const struct sim_slot *slot);
/* Its services. */
struct set sim_moves_services(const struct place_plan *plan, const struct sim_slot *slot);

/* Opens the moves. The engines must be open and have the models of their specs, which are those of
 * the plan. */
void sim_moves_open(struct sim_moves *moves, struct sim *sim, const struct place_problem *problem,
                    const struct place_plan *plan);
void sim_moves_close(struct sim_moves *moves);
void sim_moves_begin(struct sim_moves *moves, struct sim *sim, const struct place_plan *plan);
/* An engine has stepped while something moved. */
void sim_moves_stepped(struct sim_moves *moves, struct sim *sim, int32_t index);
void sim_moves_tick(struct sim_moves *moves, struct sim *sim); /* the wake has come */
void sim_moves_end(struct sim_moves *moves, struct sim *sim);  /* counts what is still away */
