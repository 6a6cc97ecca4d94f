/* One try to get the rest of a file. */
#pragma once
#include "base/str.h"
#include "fetch/digest.h"
#include "fetch/options.h"

struct fetch_transfer {
    const struct fetch_options *options;
    int fd;                     /* of the part */
    int64_t synced;             /* bytes that were written to disk, and left the page cache */
    int64_t n_there, n_whole;   /* bytes of the part, and of the file; n_whole -1: unknown yet */
    struct fetch_digest digest; /* of the n_there bytes */
    bool is_final;              /* the fault is no passing one, so another try is useless */
    bool is_wrong;              /* the bytes are those of another file */
    struct fault fault;
};
/* Appends bytes that came, and adds them to the digest. False, with the fault: it can't be
 * written. */
bool fetch_transfer_put(struct fetch_transfer *transfer, const void *bytes, size_t n) MUST_USE;
/* Writes what comes behind the part. OK: the store says that the file is whole. */
enum status fetch_transfer_run(struct fetch_transfer *transfer);
