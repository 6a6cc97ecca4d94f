/* Describes groups of devices that run a model together. The devices are the group's ranks.
 *
 *   group(cpu:0,cpu:1)            each rank has a part of every layer (tensor parallelism)
 *   group(cpu:0-3=20,cpu:4,6=4)   each rank has a run of layers: 20, then 4 (a pipeline)
 *
 * A comma that is followed by a letter separates ranks, since lists of cores have commas too. */
#pragma once
#include "core/device.h"

enum { DEVICE_RANKS_MAX = 8, DEVICE_GROUP_BYTES = 1024 };
struct device_group {
    int32_t n_ranks;                    /* 1: a device alone */
    int32_t n_layers[DEVICE_RANKS_MAX]; /* of each rank; 0: every rank has a part of all layers */
    struct device_spec ranks[DEVICE_RANKS_MAX];
};
/* Parses the text of a group, or of a device alone (device_parse), which is a group of one rank.
 * Ranks are of one kind, and no core or GPU is in two of them. */
enum status device_group_parse(const char *text, int n_cores_max, struct device_group *out,
                               struct fault *fault) MUST_USE;
static inline bool device_group_is_pipeline(const struct device_group *group)
{
    return group->n_layers[0] > 0;
}
/* Returns the layers of all ranks of a pipeline; 0: it is none. */
int32_t device_group_layers(const struct device_group *group);
void device_group_print(const struct device_group *group, char *text, size_t n_bytes);
