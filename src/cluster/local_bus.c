/* The local bus: a ring per receiver, for actors that share a thread. */
#include "cluster/bus.h"

#include "base/mem.h"
#include "base/ring.h"
#include "base/wake.h"

struct cluster_local_bus {
    int n_ports;
    struct local_end {
        struct ring *ring;
        bool is_waited; /* wake is open: its descriptor was asked for */
        struct wake wake;
    } ends[]; /* (n_ports) */
};

struct cluster_local_bus *cluster_local_bus_open(int n_ports, uint32_t bytes_per_port)
{
    CHECK(n_ports > 0 && n_ports <= UINT16_MAX);
    struct cluster_local_bus *bus = mem_take(sizeof *bus + (size_t)n_ports * sizeof bus->ends[0]);
    bus->n_ports = n_ports;
    for (int i = 0; i < n_ports; i++) {
        bus->ends[i].ring = mem_take(ring_bytes(bytes_per_port));
        ring_init(bus->ends[i].ring, bytes_per_port);
    }
    return bus;
}

void cluster_local_bus_close(struct cluster_local_bus *bus)
{
    for (int i = 0; i < bus->n_ports; i++) {
        if (bus->ends[i].is_waited)
            wake_close(&bus->ends[i].wake);
        mem_give(bus->ends[i].ring);
    }
    mem_give(bus);
}

static bool send(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2)
{
    struct cluster_local_bus *bus = self;
    if (to >= bus->n_ports)
        return true; /* a message to an address that no port has is lost */
    struct local_end *end = &bus->ends[to];
    if (end->is_waited && ring_is_empty(end->ring))
        wake_up(&end->wake);
    return ring_put(end->ring, part1, n1, part2, n2);
}

static bool peek(void *self, uint16_t at, const void **message, size_t *n_bytes)
{
    struct cluster_local_bus *bus = self;
    return ring_peek(bus->ends[at].ring, message, n_bytes);
}

static void pop(void *self, uint16_t at)
{
    struct cluster_local_bus *bus = self;
    struct local_end *end = &bus->ends[at];
    ring_pop(end->ring);
    if (!ring_is_empty(end->ring))
        return;
    /* Only this thread looks at it, so an empty ring may begin anew: memory that a rush never
     * reaches is never touched. */
    ring_init(end->ring, end->ring->capacity);
    if (end->is_waited)
        wake_clear(&end->wake);
}

static int wait_fd(void *self, uint16_t at)
{
    struct cluster_local_bus *bus = self;
    struct local_end *end = &bus->ends[at];
    if (end->is_waited)
        return end->wake.fd;
    wake_open(&end->wake);
    end->is_waited = true;
    if (!ring_is_empty(end->ring))
        wake_up(&end->wake);
    return end->wake.fd;
}

struct bus_port cluster_local_bus_port(struct cluster_local_bus *bus, uint16_t address)
{
    CHECK(address < bus->n_ports);
    return (struct bus_port){
        .self = bus, .address = address, .send = send, .peek = peek, .pop = pop, .wait_fd = wait_fd
    };
}

bool cluster_local_bus_has_mail(const struct cluster_local_bus *bus, uint16_t address)
{
    return !ring_is_empty(bus->ends[address].ring);
}
