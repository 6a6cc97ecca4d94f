/* Brings a file from other nodes or an HTTP(S) store into a folder on this machine, once, and keeps
 * it there.
 *
 *   FOLDER/SHA256        a whole file, whose bytes were checked; its time is that of its last use
 *   FOLDER/SHA256.part   the beginning of one, which the next try goes on with (Range)
 *   FOLDER/.lock         held while room is made
 *
 * A part becomes a file by a rename after its SHA-256 was checked and its bytes were written to
 * disk. So a process that is killed leaves a part, and never a wrong file. Any number of processes
 * may share the folder: a lock on the part makes the others wait, and a file that is used is
 * locked, so that no process evicts it. Stores and peers are not trusted: a file has the length
 * that they announce, or it is refused, and length, redirects, silence and tries are bounded. */
#pragma once
#include "base/status.h"
#include "fetch/options.h"
#include <limits.h>

enum { FETCH_SHA256_TEXT = 65 }; /* 64 hexadecimal digits, with the zero byte */

struct fetch_file { /* a file that is in use */
    char path[PATH_MAX];
    int fd; /* has the lock */
};
/* Returns when the file is there, which may take long, or with the reason. It runs on a thread of
 * its own that gives way to others. IO: the store failed; another call may go on with the part. */
enum status fetch_get(struct fetch_file *out, const struct fetch_options *options,
                      struct fault *fault) MUST_USE;
/* The same, if the file is there already: NOT_FOUND, without a sentence, if it is not. */
enum status fetch_find(struct fetch_file *out, const struct fetch_options *options,
                       struct fault *fault) MUST_USE;
/* Lets the file be evicted. */
void fetch_release(struct fetch_file *file);
/* Returns whether a model's path names a store, or peers. */
bool fetch_is_url(const char *path);
/* Checks the address and the hash of the options. */
enum status fetch_check(const struct fetch_options *options, struct fault *fault) MUST_USE;
