/* SHA-256 of a file that arrives in pieces. */
#pragma once
#include "base/status.h"

struct fetch_digest {
    void *context;
};
void fetch_digest_open(struct fetch_digest *digest);
void fetch_digest_close(struct fetch_digest *digest);
void fetch_digest_restart(struct fetch_digest *digest);
void fetch_digest_add(struct fetch_digest *digest, const void *bytes, size_t n);
/* Adds the first n_bytes of a file. False: it could not be read, or has fewer. */
bool fetch_digest_add_file(struct fetch_digest *digest, int fd, int64_t n_bytes) MUST_USE;
/* Ends it. Writes 64 hexadecimal digits and a zero byte. */
void fetch_digest_end(struct fetch_digest *digest, char out[65]);
/* Whether the text is 64 hexadecimal digits. */
bool fetch_digest_is_text(const char *text);
/* Compares the SHA-256 of a whole file. BAD_INPUT: it is another one. */
enum status fetch_digest_check_file(const char *path, const char *sha256,
                                    struct fault *fault) MUST_USE;
