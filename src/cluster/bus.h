/* The bus connects gateway, manager and nodes. On one machine it consists of rings, and between
 * machines of connections; the actors above it are the same.
 *
 * A port is one actor's end. Messages are flat records (cluster/message.h), copied; order between
 * two ports is kept. */
#pragma once
#include "base/base.h"

struct bus_port {
    void *self;
    uint16_t address;
    bool can_lose; /* messages may get lost: links watch for silence (cluster/link.h) */
    bool (*send)(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2); /* false: full */
    bool (*peek)(void *self, uint16_t at, const void **message, size_t *n_bytes);
    void (*pop)(void *self, uint16_t at);
    /* Readable while peek may have mail, for event loops that wait for it. NULL: it has none. */
    int (*wait_fd)(void *self, uint16_t at);
    /* Nothing is lost from and to addresses below this one: they are of the same process. */
    uint16_t n_local;
    /* Single messages may vanish while the connection lives: links keep copies, and send them again.
     * False for TCP, which does that itself. */
    bool can_drop;
};

/* The local bus: a ring per receiver. All its ports are used from one thread. */
struct cluster_local_bus;
/* Opens a local bus. bytes_per_port: a power of two. */
struct cluster_local_bus *cluster_local_bus_open(int n_ports, uint32_t bytes_per_port);
void cluster_local_bus_close(struct cluster_local_bus *bus);
struct bus_port cluster_local_bus_port(struct cluster_local_bus *bus, uint16_t address);
bool cluster_local_bus_has_mail(const struct cluster_local_bus *bus, uint16_t address);
