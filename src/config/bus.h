/* The keys of the bus between machines: bus_listen makes a process a node that others may use,
 * nodes makes it a gateway, and so does store without bus_listen. */
#pragma once
#include "base/status.h"

struct config;
enum { CONFIG_HOST_BYTES = 200 };
struct config_place { /* HOST:PORT, and =ENGINES behind it */
    char host[CONFIG_HOST_BYTES];
    uint16_t port;
    int n_engines;
};
/* Reads an element of `key`; 1 engine when none are said. */
enum status config_bus_read_place(const char *key, const char *text, struct config_place *out,
                                  struct fault *fault) MUST_USE;
/* Whether the process has no engines of its own: its nodes are listed, or learnt from the store. */
bool config_bus_is_gateway(const struct config *config);
/* The keys fit together, and each element can be read. */
enum status config_bus_check(const struct config *config, struct fault *fault) MUST_USE;
