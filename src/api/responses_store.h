/* Keeps answers of /v1/responses, so that later requests can go on from them: an SQLite database in
 * a file or in memory, bounded in bytes. The oldest answers leave first.
 *
 * A thread of its own writes what is kept. All functions may be called from any thread; those that
 * read or delete may wait for the disk, so that the I/O thread leaves them to workers. A read finds
 * all that was kept before it. A tenant finds its own answers alone. */
#pragma once
#include "api/error.h"
#include "base/status.h"
#include <jansson.h>

struct api_responses_peers;

enum { RESPONSES_GATEWAY_BYTES = 9, RESPONSES_ID_BYTES = 48 };

struct api_responses_store;
/* Opens the store in a file that no other process uses; a NULL path means memory. With 0 bytes it
 * keeps nothing. */
enum status api_responses_store_open(struct api_responses_store **out, const char *path,
                                     int64_t n_bytes_max, struct fault *fault) MUST_USE;
void api_responses_store_close(struct api_responses_store *responses); /* NULL is fine */
/* Writes this gateway's name, eight hexadecimal digits. Each id of an answer begins with them; they
 * stay the same as long as the file does. */
void api_responses_store_gateway(const struct api_responses_store *responses,
                                 char out[RESPONSES_GATEWAY_BYTES]);
/* Returns whether an answer with this many bytes is kept: at most a quarter of the bound. */
bool api_responses_store_may_keep(const struct api_responses_store *responses, size_t n_bytes);

struct api_responses_store_row {
    const char *id, *previous; /* previous: the answer that it goes on from; NULL: none */
    uint64_t tenant;
    const char *items;    /* the request's own input, a JSON array */
    struct view response; /* the answer, a JSON object with its output */
};
/* Hands an answer to the writer, which removes the oldest ones beyond the bound. It never waits. An
 * answer is not kept, and that is logged, when too much waits to be written. */
void api_responses_store_keep(struct api_responses_store *responses,
                              const struct api_responses_store_row *row);
/* Appends the answer's JSON object. Returns false with the error set. */
bool api_responses_store_show(struct api_responses_store *responses, const char *id,
                              uint64_t tenant, struct str *out, struct api_error *error);
bool api_responses_store_forget(struct api_responses_store *responses, const char *id,
                                uint64_t tenant, struct api_error *error);
/* Appends the answer with its input, as a page for other gateways. */
bool api_responses_store_round(struct api_responses_store *responses, const char *id,
                               uint64_t tenant, struct str *out, struct api_error *error);
struct api_responses_wanted {
    const char *id;
    uint64_t tenant;
    struct api_responses_peers *peers; /* that may have what is not here; NULL: none */
};
/* Appends the inputs and outputs of the answer and of all that it went on from, in their order. */
bool api_responses_store_replay(struct api_responses_store *responses,
                                const struct api_responses_wanted *wanted, json_t *items,
                                struct api_error *error);
