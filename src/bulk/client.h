/* A client of another node's door that reads parts of files. Its calls wait, so it is for threads
 * of their own. */
#pragma once
#include "bulk/options.h"

struct bulk_client;
struct bulk_client_options {
    const char *host;
    uint16_t port;
    const struct cluster_tcp_tls *tls; /* as a door has it; NULL: loopback alone */
    int64_t stall_ns;                  /* a call that gets no byte for this long fails */
};
enum status bulk_client_open(struct bulk_client **out, const struct bulk_client_options *options,
                             struct fault *fault) MUST_USE;
void bulk_client_close(struct bulk_client *client);

struct bulk_client_piece {
    uint8_t sha256[32]; /* of the file */
    int64_t offset;
    void *to;
    int64_t n_max, n; /* bytes that are wanted, and that came: fewer at the file's end alone */
    int64_t n_whole;  /* of the file */
};
/* NOT_FOUND: the node does not have the file. BUSY: ask again. After another fault the client is
 * of no use. */
enum status bulk_client_read(struct bulk_client *client, struct bulk_client_piece *piece,
                             struct fault *fault) MUST_USE;
