/* A reader of another node's door that reads parts of files. Its calls wait, so it is for threads
 * of their own. */
#pragma once
#include "bulk/options.h"

struct bulk_reader;
struct bulk_reader_options {
    const char *host;
    uint16_t port;
    const struct cluster_tcp_tls *tls; /* as a door has it; NULL: loopback alone */
    int64_t stall_ns;                  /* a call that gets no byte for this long fails */
};
enum status bulk_reader_open(struct bulk_reader **out, const struct bulk_reader_options *options,
                             struct fault *fault) MUST_USE;
void bulk_reader_close(struct bulk_reader *reader);

struct bulk_reader_piece {
    uint8_t sha256[32]; /* of the file */
    int64_t offset;
    void *to;
    int64_t n_max, n; /* bytes that are wanted, and that came: fewer at the file's end alone */
    int64_t n_whole;  /* of the file */
};
/* NOT_FOUND: the node does not have the file. BUSY: ask again. After another fault the reader is
 * of no use. */
enum status bulk_reader_read(struct bulk_reader *reader, struct bulk_reader_piece *piece,
                             struct fault *fault) MUST_USE;
