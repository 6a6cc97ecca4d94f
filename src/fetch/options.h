/* The file that is to be fetched, and the bounds. */
#pragma once
#include "base/base.h"

struct fetch_options {
    const char *url;       /* http:// or https:// */
    const char *sha256;    /* 64 hexadecimal digits */
    const char *folder;    /* is made if it is missing */
    const char *ca;        /* PEM file of the authorities to trust; NULL: the system's */
    int64_t n_bytes_max;   /* of all files in the folder; 0: as the disk has room */
    int64_t n_bytes_per_s; /* 0: no bound */
    int64_t stall_ns;      /* a transfer that is nearly silent for this long is broken off */
};
