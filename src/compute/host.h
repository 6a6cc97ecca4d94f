/* Memory objects of devices that use the host's memory. */
#pragma once
#include "base/status.h"
#include "compute/work.h"

/* Implement the functions of compute_device. */
enum status compute_host_open(void *self, const struct compute_memory_options *options,
                              struct compute_memory **out, struct fault *fault) MUST_USE;
void compute_host_close(void *self, struct compute_memory *memory);
bool compute_host_back(void *self, struct compute_memory *memory, int64_t from, int64_t to);
void compute_host_drop(void *self, struct compute_memory *memory, int64_t from, int64_t to);
/* Copies all parts, in turn. Returns DONE, or LOST when another rank of the copy's group is gone.
 */
enum compute_state compute_host_copy(const struct compute_copy *copy);
