/* Puts the layers of a server's only model on the devices of `devices`, by a planner of layers
 * (place/layers.h): the devices become one group, in which each has a run of layers.
 *
 * Nothing is assumed about the devices. The model is loaded once, and a decode step is timed on
 * each device; so is handing a step's rows from each device to each other one. A device may hold
 * its part of the memory, by cores. */
#pragma once
#include "config/config.h"
#include "core/device.h"
#include "place/layers.h"

/* The step that is timed: this many requests, each with a context as expected (or less). */
enum { SERVE_LAYER_MAP_BATCH = 8 };

/* The facts about the devices and the model before the layers are put anywhere. */
struct serve_layer_map {
    int32_t n_devices, n_layers;
    const char *names[DEVICE_RANKS_MAX];
    int64_t step_ps[DEVICE_RANKS_MAX]; /* the whole model's on each */
    int64_t link_ps[DEVICE_RANKS_MAX * DEVICE_RANKS_MAX];
    int64_t memory_bytes[DEVICE_RANKS_MAX];
    int64_t table_bytes; /* packed, of embedding and output matrix; layers have the rest: */
    int64_t weights_bytes;
    int64_t kv_layer_bytes; /* of a token */
    int64_t n_tokens;       /* of KV that each layer has room for */
};
/* Makes a plan by the planner's aim. Returns what layers_solve does. */
enum status serve_layer_map_plan(const struct serve_layer_map *layers, enum layers_aim aim,
                                 struct layers_plan *plan, struct fault *fault) MUST_USE;
/* Writes the plan as a device: "group(cpu:0=20,cpu:1=4)", or one device alone. */
void serve_layer_map_print(const struct serve_layer_map *layers, const struct layers_plan *plan,
                           char *text, size_t n_bytes);

/* Returns whether the configuration names a planner of layers. */
bool serve_layer_map_is_asked(const struct config *config);
/* Measures, plans, logs the plan, and sets the configuration's devices. */
enum status serve_layer_map_place(struct config *config, int64_t memory_bytes,
                                  struct fault *fault) MUST_USE;
