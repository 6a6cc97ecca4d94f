/* The local bus: a ring per receiver, for actors that share a thread. */
#include "cluster/bus.h"

#include "base/mem.h"
#include "base/ring.h"

struct cluster_local_bus {
    int n_ports;
    struct ring *rings[]; /* (n_ports) */
};

struct cluster_local_bus *cluster_local_bus_open(int n_ports, uint32_t bytes_per_port)
{
    CHECK(n_ports > 0 && n_ports <= UINT16_MAX);
    struct cluster_local_bus *bus = mem_take(sizeof *bus + (size_t)n_ports * sizeof bus->rings[0]);
    bus->n_ports = n_ports;
    for (int i = 0; i < n_ports; i++) {
        bus->rings[i] = mem_take(ring_bytes(bytes_per_port));
        ring_init(bus->rings[i], bytes_per_port);
    }
    return bus;
}

void cluster_local_bus_close(struct cluster_local_bus *bus)
{
    for (int i = 0; i < bus->n_ports; i++)
        mem_give(bus->rings[i]);
    mem_give(bus);
}

static bool send(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2)
{
    struct cluster_local_bus *bus = self;
    if (to >= bus->n_ports)
        return true; /* a message to an address that no port has is lost */
    return ring_put(bus->rings[to], part1, n1, part2, n2);
}

static bool peek(void *self, uint16_t at, const void **message, size_t *n_bytes)
{
    struct cluster_local_bus *bus = self;
    return ring_peek(bus->rings[at], message, n_bytes);
}

static void pop(void *self, uint16_t at)
{
    struct cluster_local_bus *bus = self;
    ring_pop(bus->rings[at]);
    /* Only this thread looks at it, so an empty ring may begin anew: memory that a rush never
     * reaches is never touched. */
    if (ring_is_empty(bus->rings[at]))
        ring_init(bus->rings[at], bus->rings[at]->capacity);
}

struct bus_port cluster_local_bus_port(struct cluster_local_bus *bus, uint16_t address)
{
    CHECK(address < bus->n_ports);
    return (
        struct bus_port){ .self = bus, .address = address, .send = send, .peek = peek, .pop = pop };
}

bool cluster_local_bus_has_mail(const struct cluster_local_bus *bus, uint16_t address)
{
    return !ring_is_empty(bus->rings[address]);
}
