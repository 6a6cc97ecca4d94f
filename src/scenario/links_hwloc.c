/* Finds links between GPUs by hwloc's tree of PCI bridges and its table of NVLinks. */
#include "base/mem.h"
#include "base/num.h"
#include "scenario/links_here.h"

#include <hwloc.h>
#include <hwloc/distances.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { VENDOR_NVIDIA = 0x10de, CLASS_DISPLAY = 0x03, NVLINK_NS = 5000 };

static bool is_gpu(hwloc_obj_t pci)
{
    return pci->attr->pcidev.vendor_id == VENDOR_NVIDIA &&
           pci->attr->pcidev.class_id >> 8 == CLASS_DISPLAY;
}

static int by_address(const void *a, const void *b)
{
    const struct hwloc_pcidev_attr_s *x = &(*(const hwloc_obj_t *)a)->attr->pcidev;
    const struct hwloc_pcidev_attr_s *y = &(*(const hwloc_obj_t *)b)->attr->pcidev;
    int64_t left = (int64_t)x->domain << 24 | x->bus << 16 | x->dev << 8 | x->func;
    int64_t right = (int64_t)y->domain << 24 | y->bus << 16 | y->dev << 8 | y->func;
    return (left > right) - (left < right);
}

static int32_t find_gpus(hwloc_topology_t topology, hwloc_obj_t gpus[LINKS_DEVICES_MAX])
{
    int32_t n = 0;
    hwloc_obj_t pci = NULL;
    while ((pci = hwloc_get_next_pcidev(topology, pci)) != NULL && n < LINKS_DEVICES_MAX)
        if (is_gpu(pci))
            gpus[n++] = pci;
    qsort(gpus, (size_t)n, sizeof(gpus[0]), by_address);
    return n;
}

/* Returns how far above it is: 0 for the object itself; -1: it is not above. */
static int32_t steps_up(hwloc_obj_t from, hwloc_obj_t to)
{
    int32_t n = 0;
    while (from != NULL && from != to) {
        from = from->parent;
        n++;
    }
    return from == NULL ? -1 : n;
}

static hwloc_obj_t node_of(hwloc_topology_t topology, hwloc_obj_t pci)
{
    return hwloc_get_non_io_ancestor_obj(topology, pci);
}

static const char *word_of(hwloc_topology_t topology, hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t shared = a;
    while (steps_up(b, shared) < 0)
        shared = shared->parent;
    if (shared->type == HWLOC_OBJ_BRIDGE &&
        shared->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST)
        return "PHB";
    if (shared->type == HWLOC_OBJ_BRIDGE || shared->type == HWLOC_OBJ_PCI_DEVICE) {
        /* A switch adds one bridge up and one down to each device. */
        bool is_one = steps_up(a, shared) <= 2 && steps_up(b, shared) <= 2;
        return is_one ? "PIX" : "PXB";
    }
    bool is_near =
        hwloc_bitmap_isequal(node_of(topology, a)->nodeset, node_of(topology, b)->nodeset) != 0;
    return is_near ? "NODE" : "SYS";
}

static int32_t index_of(hwloc_obj_t of, hwloc_obj_t const *gpus, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (of != NULL && steps_up(of, gpus[i]) >= 0)
            return i;
    return -1;
}

/* Each pair that a switch joins gets its own value. hwloc's closure gives 0 to pairs without a
 * switch, and no machine has both. */
static void resolve_switches(hwloc_topology_t topology, struct hwloc_distances_s *table)
{
    bool has_switch = false;
    for (unsigned i = 0; i < table->nbobjs; i++)
        has_switch |= table->objs[i] != NULL && table->objs[i]->subtype != NULL &&
                      strcmp(table->objs[i]->subtype, "NVSwitch") == 0;
    if (!has_switch)
        return;
    (void)hwloc_distances_transform(topology, table, HWLOC_DISTANCES_TRANSFORM_MERGE_SWITCH_PORTS,
                                    NULL, 0);
    (void)hwloc_distances_transform(topology, table, HWLOC_DISTANCES_TRANSFORM_TRANSITIVE_CLOSURE,
                                    NULL, 0);
}

/* hwloc has them in MB/s. */
static void add_nvlinks(hwloc_topology_t topology, hwloc_obj_t const *gpus, struct links *links)
{
    struct hwloc_distances_s *table;
    unsigned n_tables = 1;
    if (hwloc_distances_get_by_name(topology, "NVLinkBandwidth", &n_tables, &table, 0) != 0 ||
        n_tables == 0)
        return;
    resolve_switches(topology, table);
    for (unsigned i = 0; i < table->nbobjs * table->nbobjs; i++) {
        int32_t from = index_of(table->objs[i / table->nbobjs], gpus, links->n);
        int32_t to = index_of(table->objs[i % table->nbobjs], gpus, links->n);
        hwloc_uint64_t mbytes = table->values[i];
        if (from >= 0 && to >= 0 && from != to && mbytes > 0 && mbytes < 1000000000)
            links->at[from * links->n + to] =
                (struct links_link){ NVLINK_NS, 1e6 * (double)mbytes };
    }
    hwloc_distances_release(topology, table);
}

static enum status open_topology(hwloc_topology_t *topology, const char *xml, size_t n_bytes,
                                 struct fault *fault)
{
    if (hwloc_topology_init(topology) != 0)
        return fault_set(fault, STATUS_IO, "hwloc can't start");
    bool is_open = hwloc_topology_set_io_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_ALL) == 0;
    if (xml != NULL)
        is_open = is_open && n_bytes < INT_MAX &&
                  hwloc_topology_set_xmlbuffer(*topology, xml, (int)n_bytes + 1) == 0;
    if (is_open && hwloc_topology_load(*topology) == 0)
        return STATUS_OK;
    hwloc_topology_destroy(*topology);
    return xml != NULL ? fault_set(fault, STATUS_BAD_INPUT,
                                   "not a topology that hwloc wrote: expected "
                                   "what `lstopo machine.xml` writes")
                       : fault_set(fault, STATUS_IO, "hwloc can't read this machine's topology");
}

enum status links_hwloc(const char *xml, size_t n_bytes, struct links *links, struct fault *fault)
{
    hwloc_topology_t topology;
    hwloc_obj_t gpus[LINKS_DEVICES_MAX];
    *links = (struct links){ 0 };
    enum status status = open_topology(&topology, xml, n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    int32_t n = find_gpus(topology, gpus);
    if (n == 0)
        status = fault_set(fault, STATUS_NOT_FOUND, "hwloc knows of no NVIDIA GPU %s",
                           xml != NULL ? "there" : "here");
    else
        *links = (struct links){ n, mem_take((size_t)n * (size_t)n * sizeof(links->at[0])) };
    for (int32_t i = 0; i < n * n; i++)
        if (i / n != i % n)
            CHECK(links_word(word_of(topology, gpus[i / n], gpus[i % n]), &links->at[i]));
    if (n > 0)
        add_nvlinks(topology, gpus, links);
    hwloc_topology_destroy(topology);
    return status;
}

enum status links_here(struct links *links, struct fault *fault)
{
    struct fault by_nvml, by_hwloc;
    if (links_nvml("libnvidia-ml.so.1", links, &by_nvml) == STATUS_OK)
        return STATUS_OK;
    links_free(links);
    enum status status = links_hwloc(NULL, 0, links, &by_hwloc);
    if (status != STATUS_OK)
        return fault_set(fault, status, "%.150s; %.80s", by_nvml.text, by_hwloc.text);
    return STATUS_OK;
}
