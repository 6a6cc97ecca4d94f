/* A model file opened on a device, with one sequence and a cache of its own, for tests of the
 * forward pass. */
#pragma once
#include "run/model.h"

enum { PASSES_BLOCK_TOKENS = 16 };

struct passes {
    struct compute_device *device;
    struct run_model model;
    struct compute_kv kv;
    uint32_t *blocks;
    int32_t n_tokens_max;
    struct compute_workspace *workspace;
    int32_t *positions, *logit_rows;
    uint8_t *classes;
};
/* Opens the model. It owns device from here on. */
enum status passes_open(struct passes *p, const char *path, struct compute_device *device,
                        enum dtype kv_dtype, int32_t n_tokens_max, struct fault *fault);
void passes_close(struct passes *p);
/* Computes ids behind n_before tokens of the sequence; a single one counts as generated. Logits of
 * the last n_logits rows: (n_logits, n_vocabulary). */
void passes_run(struct passes *p, const int32_t *ids, int32_t n_before, int32_t n_ids,
                int32_t n_logits, float *logits);
/* Computes generated ids in one pass, as a request that is resumed does. Logits of all rows:
 * (n_ids, n_vocabulary). */
void passes_replay(struct passes *p, const int32_t *ids, int32_t n_before, int32_t n_ids,
                   float *logits);
/* Computes an encoder's text. vectors: the last n_rows rows of the last layer (n_rows, width). */
void passes_vectors(struct passes *p, const int32_t *ids, int32_t n_ids, int32_t n_rows,
                    float *vectors);
/* Returns the bits that the model needs for ids, read in windows of n_window ids, each behind a bos
 * of its own. */
double passes_bits(struct passes *p, const int32_t *ids, int32_t n_ids, int32_t n_window,
                   int32_t bos_id);
int32_t passes_n_vocabulary(const struct passes *p);
