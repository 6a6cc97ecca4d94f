/* Links between devices: the time to hand one step's activations from one device to another.
 *
 * A link is a latency and a bandwidth. They come from `nvidia-smi topo -m` (its matrix of words, as
 * UELLM's Table 2 prints it), or from our own table with microseconds and GB/s. Programs that query
 * hwloc or NVML (scenario/links_here.h) fill the struct themselves. Source of the latencies:
 * docs/ALGORITHMS.md section 5.5. */
#pragma once
#include "base/status.h"

/* A hop between neighbours, unless a file gives a better figure. */
enum { LINKS_DEVICES_MAX = 256, LINKS_NEIGHBOUR_NS = 10000 };

struct links_link {
    int64_t latency_ns;
    double bytes_per_s; /* 0: none, the latency is all */
};
struct links {
    int32_t n;             /* devices */
    struct links_link *at; /* (n, n): from, to; links_free gives them back */
};
/* Reads the matrix of `nvidia-smi topo -m` (rows GPU0.. of X, NV#, PIX, PXB, PHB, NODE, SYS) and
 * skips what follows the matrix. Or reads CSV with the columns from, to, us, gbytes_per_s. A row
 * counts for both directions unless the other has its own row, and a device without a row is an
 * error. The caller zeroes the struct before, and frees it even after a fault. */
enum status links_read(struct links *links, const char *text, struct fault *fault) MUST_USE;
void links_free(struct links *links);
/* Finds the link of a word of nvidia-smi ("PIX", "NV4"). Returns false for other words. */
bool links_word(const char *word, struct links_link *out) MUST_USE;
/* Returns the picoseconds for n_bytes on a link. */
int64_t links_time(const struct links_link *link, int64_t n_bytes);
/* Sets the same for each link: layers_problem.link_ps, (n, n), with 0 on the diagonal. */
void links_times(const struct links *links, int64_t n_bytes, int64_t *link_ps);
