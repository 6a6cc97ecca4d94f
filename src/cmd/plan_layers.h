/* shoal plan CLUSTER --layers MODEL puts one model's layers on the devices of a cluster. */
#pragma once
#include "cmd/scenario.h"

struct plan_layers_ask {
    const struct scenario *scenario; /* its nodes, memory_part, is_json */
    const char *model;               /* of the table of models */
    const char *links;               /* for plan_layers_links; NULL: by the kinds of devices */
    const char *planners;            /* "helr,bgs"; NULL: all */
    int64_t n_batch, n_context; /* requests of a batch, and the tokens that each may reach: their KV
                                   is reserved, and the plan is made for their step */
};
/* Reads links between n devices: "machine" for this machine's GPUs, else a file for links_read or
 * an output of lstopo. Free them even after a fault. */
struct links;
enum status plan_layers_links(const char *path, int32_t n, struct links *links,
                              struct fault *fault) MUST_USE;
/* Returns the exit code. Errors are printed. */
int plan_layers(const struct plan_layers_ask *ask);
