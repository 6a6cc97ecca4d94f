/* The file that is to be fetched, and the bounds. */
#pragma once
#include "base/status.h"

struct fetch_piece {
    const char *sha256; /* of the file */
    int64_t offset;
    void *to;
    int64_t n_max, n; /* bytes that are wanted, and that came: fewer at the file's end alone */
    int64_t n_whole;  /* of the file */
};
/* Other nodes that may have the file: asked in turn, before the store. */
struct fetch_peers {
    void *self;
    int n;
    const char *const *names; /* (n) for messages */
    enum status (*open)(void *self, int peer, void **client, struct fault *fault);
    /* Sets n and n_whole. NOT_FOUND: the peer does not have the file. BUSY: ask again. */
    enum status (*read)(void *client, struct fetch_piece *piece, struct fault *fault);
    void (*close)(void *client);
};
struct fetch_options {
    const char *url;       /* http://, https://, or peer://, which only peers have */
    const char *sha256;    /* 64 hexadecimal digits */
    const char *folder;    /* is made if it is missing */
    const char *ca;        /* PEM file of the authorities to trust; NULL: the system's */
    int64_t n_bytes_max;   /* of all files in the folder; 0: as the disk has room */
    int64_t n_bytes_per_s; /* 0: no bound */
    int64_t stall_ns;      /* a transfer that is nearly silent for this long is broken off */
    const struct fetch_peers *peers; /* NULL: none */
};
