/* Finds the links between a machine's GPUs: from NVIDIA's library if it is installed, else from
 * hwloc.
 *
 * GPUs are numbered as NVIDIA's driver does, by their PCI addresses. The part that two GPUs share
 * gives their distance, in the words of `nvidia-smi topo -m` (place/links.h has the times): one
 * PCIe switch PIX, several PXB, a host bridge PHB, a NUMA node NODE, else SYS. NVLinks precede all
 * of these. The caller zeroes the structs before, and frees them (links_free) even after a
 * fault. */
#pragma once
#include "place/links.h"
#include <stddef.h>

/* Finds this machine's links. STATUS_NOT_FOUND: neither source knows a GPU. */
enum status links_here(struct links *links, struct fault *fault) MUST_USE;
/* Asks the library (libnvidia-ml.so.1, or a path). STATUS_NOT_FOUND: the library or a GPU is
 * missing. */
enum status links_nvml(const char *library, struct links *links, struct fault *fault) MUST_USE;
/* Asks hwloc. xml: NULL for this machine, or the output of `lstopo machine.xml` of another one.
 * NVLinks are included if that hwloc was built with NVML. */
enum status links_hwloc(const char *xml, size_t n_bytes, struct links *links,
                        struct fault *fault) MUST_USE;
