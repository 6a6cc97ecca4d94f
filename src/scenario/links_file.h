/* Links between devices by a name: this machine, or a file. */
#pragma once
#include "place/links.h"

/* Links between n devices: "machine" for this machine's GPUs, else a file for links_read or one
 * that lstopo wrote of a machine. To be freed also after a fault. */
enum status links_file_read(const char *path, int32_t n, struct links *links,
                            struct fault *fault) MUST_USE;
