/* Divides cores by socket, into as many units as 16 engines allow. */
#include "serve/machine.h"

void serve_machine_init(const struct cpu_topology *topology, int64_t memory_bytes,
                        struct serve_machine *out)
{
    *out = (struct serve_machine){ .memory_bytes = memory_bytes };
    int32_t n_sockets = 0;
    for (int32_t socket = 0; socket < topology->n_sockets; socket++) {
        struct device_spec device;
        cpu_topology_device(topology, socket, &device);
        n_sockets += device.n_cores > 0;
    }
    for (int32_t socket = 0; socket < topology->n_sockets; socket++) {
        struct device_spec device;
        int32_t n_units = 1;
        cpu_topology_device(topology, socket, &device);
        if (device.n_cores == 0 || out->n_units == SERVE_UNITS_MAX)
            continue;
        while (2 * n_units <= device.n_cores && 2 * n_units * n_sockets <= SERVE_UNITS_MAX)
            n_units *= 2;
        for (int32_t u = 0; u < n_units; u++)
            out->first[out->n_units++] = out->n_cores + device.n_cores * u / n_units;
        for (int32_t i = 0; i < device.n_cores; i++)
            out->cores[out->n_cores++] = device.cores[i];
        out->first[out->n_units] = out->n_cores;
        out->node_first[++out->n_nodes] = out->n_units;
    }
}

void serve_machine_device(const struct serve_machine *machine, int32_t first, int32_t n, char *text,
                          size_t n_bytes)
{
    struct device_spec device = { .kind = DEVICE_CPU };
    for (int32_t i = machine->first[first]; i < machine->first[first + n]; i++)
        device.cores[device.n_cores++] = machine->cores[i];
    device_print(&device, text, n_bytes);
}
