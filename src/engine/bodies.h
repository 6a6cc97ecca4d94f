/* The engine's bodies: token sequences and sampling of its requests, in one block of memory taken
 * at start.
 *
 * A body holds room for all tokens that its request may ever have. So the executor can write new
 * tokens behind the known ones while the engine does other work. request.n_tokens tells how many of
 * them count. */
#pragma once
#include "core/request.h"

struct engine_body {
    const struct request_body *head; /* sampling, seed, stop ids, biases; with n_tokens = 0 */
    int32_t *tokens;                 /* (n_tokens_max) prompt and generated */
    struct engine_scores *scores;    /* scores.h; NULL: its prompt is not scored */
    struct engine_vector *vector;    /* vector.h; NULL: it has none */
};
struct engine_bodies;

struct engine_bodies *engine_bodies_open(uint32_t n_max, int64_t n_bytes);
void engine_bodies_close(struct engine_bodies *bodies);
struct engine_bodies_room {
    int32_t n_tokens_max;
    int32_t n_scored; /* tokens of a prompt that is scored, otherwise 0 */
    int32_t n_vector; /* floats of its vector; 0: it has none */
};
/* Copies the record and makes room for tokens, scores and vector. Returns a handle, 0 when there is
 * no room. */
uint32_t engine_bodies_take(struct engine_bodies *bodies, const struct request_body *body,
                            struct engine_bodies_room room);
/* Returns the bytes that it would take, and the most bytes that any body can get. */
int64_t engine_bodies_bytes(const struct request_body *body, struct engine_bodies_room room);
int64_t engine_bodies_bytes_max(const struct engine_bodies *bodies);
void engine_bodies_put(struct engine_bodies *bodies, uint32_t handle);
/* The executor's thread may call it for a request in flight. */
struct engine_body engine_bodies_at(const struct engine_bodies *bodies, uint32_t handle);
