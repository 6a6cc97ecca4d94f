/* shoal plan CLUSTER --layers MODEL puts one model's layers on the devices of a cluster. */
#pragma once
#include "scenario/scenario.h"

struct report_layers_ask {
    const struct scenario *scenario; /* its nodes, memory_part, is_json */
    const char *model;               /* of the table of models */
    const char *links;               /* for links_file_read; NULL: by the kinds of devices */
    const char *planners;            /* "helr,bgs"; NULL: all */
    int64_t n_batch, n_context; /* requests of a batch, and the tokens that each may reach: their KV
                                   is reserved, and the plan is made for their step */
};
/* The exit code; what is wrong is printed. */
int report_layers(const struct report_layers_ask *ask);
