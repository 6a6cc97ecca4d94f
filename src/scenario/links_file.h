/* Links between devices by a name: this machine, or a file. */
#pragma once
#include "place/links.h"

/* Reads links between n devices: "machine" for this machine's GPUs, else a file for links_read or
 * an output of lstopo. Free them even after a fault. */
enum status links_file_read(const char *path, int32_t n, struct links *links,
                            struct fault *fault) MUST_USE;
