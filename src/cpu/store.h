/* Memory for packed weights: many matrices side by side in few regions of huge pages, since the
 * pages of a matrix alone would be small ones at its ends, or all of them where it is small.
 *
 * What is given back leaves the process at once; the addresses do when a region has nothing more.
 * Any thread may take and give. */
#pragma once
#include "base/base.h"

enum { CPU_STORE_REGION_BYTES = 64 << 20 };

struct cpu_store;
struct cpu_store *cpu_store_open(void);
/* Regions that still hold something live until it is given back. */
void cpu_store_close(struct cpu_store *store);

struct cpu_region;
struct cpu_stored {
    unsigned char *at; /* zeroed, 64-byte aligned; NULL: the system has no more */
    size_t n_bytes;
    struct cpu_region *region;
};
struct cpu_stored cpu_store_take(struct cpu_store *store, size_t n_bytes);
void cpu_store_give(struct cpu_stored *stored); /* of nothing: nothing */
