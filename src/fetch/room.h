/* Room for a file in the folder of fetched files. */
#pragma once
#include "base/status.h"

/* Makes room for n_bytes more behind the first n_there of an open part, and reserves them on disk.
 * It evicts the files and parts that were used longest ago, and that no process uses. n_bytes_max:
 * of the folder, 0: no bound but the disk's. TOO_LARGE: there is no room. */
enum status fetch_room_make(const char *folder, int part_fd, int64_t n_there, int64_t n_bytes,
                            int64_t n_bytes_max, struct fault *fault) MUST_USE;
