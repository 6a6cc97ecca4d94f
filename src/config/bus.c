/* The keys of the bus between machines. */
#include "config/bus.h"

#include "config/config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A whole number from `least` to `most` and nothing else; -1: it is none. */
static long number_of(const char *text, long least, long most)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return -1;
    long n = strtol(text, &end, 10);
    return *end == '\0' && n >= least && n <= most ? n : -1;
}

enum status config_bus_read_place(const char *key, const char *text, struct config_place *out,
                                  struct fault *fault)
{
    char copy[CONFIG_HOST_BYTES + 32];
    int n = snprintf(copy, sizeof copy, "%s", text);
    char *engines = strrchr(copy, '=');
    if (engines != NULL)
        *engines++ = '\0';
    char *port = strrchr(copy, ':');
    if (port != NULL)
        *port++ = '\0';
    char *host = copy;
    size_t n_host = strlen(host);
    if (n_host > 1 && host[0] == '[' && host[n_host - 1] == ']') { /* of IPv6 */
        host[n_host - 1] = '\0';
        host++;
    }
    long port_number = port != NULL ? number_of(port, 0, UINT16_MAX) : -1;
    long n_engines = engines != NULL ? number_of(engines, 1, LIMIT_DEVICES) : 1;
    if (n >= (int)sizeof copy || strlen(host) >= CONFIG_HOST_BYTES || host[0] == '\0' ||
        port_number < 0 || n_engines < 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: \"%.80s\" is not HOST:PORT%s", key, text,
                         strcmp(key, "nodes") == 0 ? ", or HOST:PORT=ENGINES with 1 to 16 engines"
                                                   : "");
    memcpy(out->host, host, strlen(host) + 1);
    out->port = (uint16_t)port_number;
    out->n_engines = (int)n_engines;
    return STATUS_OK;
}

bool config_bus_is_gateway(const struct config *config)
{
    return config->n_nodes > 0 || (config->n_store > 0 && config->bus_listen == NULL);
}

static enum status check_store(const struct config *config, struct fault *fault)
{
    struct config_place place;
    int n_files =
        (config->store_cert != NULL) + (config->store_key != NULL) + (config->store_ca != NULL);
    if (n_files != 0 && n_files != 3)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "store_cert, store_key and store_ca come together");
    if (strlen(config->cluster) > 64 || strchr(config->cluster, '/') != NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "cluster is \"%.80s\": a name of at most 64 bytes without / is needed",
                         config->cluster);
    if (config->n_store > 0 && config->bus_listen != NULL && config->state_dir == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "state_dir is missing: a node with a store remembers there which manager "
                         "it obeyed");
    if (config->bus_advertise == NULL)
        return STATUS_OK;
    return config_bus_read_place("bus_advertise", config->bus_advertise, &place, fault);
}

static enum status check_bulk(const struct config *config, struct fault *fault)
{
    struct config_place at, shown;
    enum status status = STATUS_OK;
    bool has_any = config->bulk_listen != NULL || config->n_model_peers > 0;
    if (config->bulk_listen == NULL && config->bulk_advertise != NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "bulk_advertise needs bulk_listen");
    if (!has_any && config->n_bulk_names > 0)
        return fault_set(fault, STATUS_BAD_INPUT, "bulk_names needs bulk_listen or model_peers");
    if (has_any && config->bus_cert != NULL && config->n_bulk_names == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "bulk_names is empty: list the names in the other nodes' certificates");
    for (int i = 0; i < config->n_model_peers && status == STATUS_OK; i++)
        status = config_bus_read_place("model_peers", config->model_peers[i], &at, fault);
    if (status != STATUS_OK)
        return status;
    if (config->bulk_listen == NULL)
        return STATUS_OK;
    if (config->bus_listen == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "bulk_listen is for nodes, and bus_listen makes this process one");
    status = config_bus_read_place("bulk_listen", config->bulk_listen, &at, fault);
    if (status == STATUS_OK && config->bulk_advertise != NULL)
        return config_bus_read_place("bulk_advertise", config->bulk_advertise, &shown, fault);
    if (status == STATUS_OK && (strcmp(at.host, "0.0.0.0") == 0 || strcmp(at.host, "::") == 0))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "bulk_advertise is missing: bulk_listen is %s, so say under which "
                         "HOST:PORT other nodes reach this one",
                         at.host);
    return status;
}

enum status config_bus_check(const struct config *config, struct fault *fault)
{
    struct config_place place;
    int n_files = (config->bus_cert != NULL) + (config->bus_key != NULL) + (config->bus_ca != NULL);
    enum status status = check_store(config, fault);
    if (status == STATUS_OK)
        status = check_bulk(config, fault);
    if (status != STATUS_OK)
        return status;
    if (n_files != 0 && n_files != 3)
        return fault_set(fault, STATUS_BAD_INPUT, "bus_cert, bus_key and bus_ca come together");
    if (config->n_nodes > 0 && config->bus_listen != NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "nodes makes this process a gateway and bus_listen makes it a node: "
                         "remove one of them");
    if (config_bus_is_gateway(config) && config->n_devices > 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s makes this process a gateway, which has no devices: remove "
                         "`devices`",
                         config->n_nodes > 0 ? "nodes" : "store without bus_listen");
    if (config->bus_listen != NULL && n_files == 3 && config->n_bus_names == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "bus_names is empty: list the names in the gateways' certificates");
    if (config->bus_listen != NULL)
        status = config_bus_read_place("bus_listen", config->bus_listen, &place, fault);
    for (int i = 0; i < config->n_nodes && status == STATUS_OK; i++) {
        status = config_bus_read_place("nodes", config->nodes[i], &place, fault);
        for (int k = 0; k < i && status == STATUS_OK; k++)
            if (strcmp(config->nodes[i], config->nodes[k]) == 0)
                status = fault_set(fault, STATUS_BAD_INPUT, "nodes lists \"%.80s\" twice",
                                   config->nodes[i]);
    }
    return status;
}
