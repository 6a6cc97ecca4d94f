/* Links between a machine's GPUs, asked of the machine: NVIDIA's library where it is, else hwloc.
 *
 * GPUs are counted as NVIDIA's driver counts them, by their PCI addresses. What two GPUs share says
 * in the words of `nvidia-smi topo -m` how near they are (place/links.h has the times): one PCIe
 * switch PIX, several PXB, a host bridge PHB, a NUMA node NODE, else SYS; NVLinks come before all.
 * The structs are zeroed before and to be freed (links_free) also after a fault. */
#pragma once
#include "place/links.h"
#include <stddef.h>

/* This machine's. STATUS_NOT_FOUND: neither knows of a GPU. */
enum status links_here(struct links *links, struct fault *fault) MUST_USE;
/* What the library (libnvidia-ml.so.1, or a path) says. STATUS_NOT_FOUND: there is no such library,
 * or no GPU. */
enum status links_nvml(const char *library, struct links *links, struct fault *fault) MUST_USE;
/* What hwloc says. xml: NULL for this machine, or what `lstopo machine.xml` wrote of another one;
 * NVLinks are there where that hwloc was built with NVML. */
enum status links_hwloc(const char *xml, size_t n_bytes, struct links *links,
                        struct fault *fault) MUST_USE;
