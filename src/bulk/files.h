/* Files that a door gives to other nodes, read by a thread of low priority, part by part. */
#pragma once
#include "base/base.h"

struct bulk_files;
struct bulk_file { /* one that lies outside of the folder */
    const char *path;
    const char *sha256; /* 64 hexadecimal digits */
};
struct bulk_files_options {
    const char *folder; /* of files that are named by their SHA-256 in lower case; NULL: none */
    const struct bulk_file *files; /* (n_files) copied */
    int n_files;
    int64_t n_bytes_per_s; /* of all that is read; 0: no bound */
};
/* Starts the thread. */
struct bulk_files *bulk_files_open(const struct bulk_files_options *options);
void bulk_files_close(struct bulk_files *files);

struct bulk_files_ask {
    int end; /* the asker, for the answer */
    uint64_t life, serial;
    uint8_t sha256[32];
    int64_t offset, n;
};
struct bulk_files_answer {
    struct bulk_files_ask ask;
    bool is_there;
    int64_t n_whole; /* of the file */
    int64_t n;       /* that were read: fewer than asked for at the file's end alone */
    void *bytes;     /* (n) the taker gives them back (mem_give) */
};
/* Returns false when too many wait. */
bool bulk_files_put(struct bulk_files *files, const struct bulk_files_ask *ask) MUST_USE;
int bulk_files_wake_fd(const struct bulk_files *files); /* readable when there may be an answer */
/* Takes the next answer; false: there is none. */
bool bulk_files_take(struct bulk_files *files, struct bulk_files_answer *answer);
