/* A pass: rows that a program is run over once, the places of their keys and values, and the draws
 * from their logits.
 *
 * A row's id may be unknown to the host: the token that the workspace's previous pass drew from a
 * row. So the next pass can begin before the previous one has ended. */
#pragma once
#include "compute/compute.h"
#include "compute/work.h"
#include "core/request.h"
#include "core/service.h"

/* The places of a model's keys and values. A block of n_tokens positions is contiguous over all
 * layers: (layer, K or V, kv_head, token, head_dim). block id b = unit * blocks_per_unit + index:
 * address = base + unit * unit_bytes + index * block_bytes.
 * By head: a block is n_layers * n_kv_heads units of (K or V, token, head_dim), each anywhere.
 * For Q8_0, a head's part of a block is (token, head_dim) int8, followed by all scales as halves,
 * (head_dim / 32, token). So bytes and scales of neighbours are side by side. */
struct compute_kv {
    struct compute_memory *memory;
    unsigned char *base; /* of memory, filled in by the device that runs the pass */
    uint64_t unit_bytes, block_bytes;
    uint32_t blocks_per_unit;
    int32_t block_tokens;
    enum dtype dtype; /* F32, F16, or Q8_0 with a head_dim that 32 divides */
    int32_t n_layers, n_kv_heads, head_dim;
    bool is_by_head;
    int32_t first_head; /* of the program's heads: one rank's are some of the cache's */
    bool has_keys_only; /* the keys are the values, too: there is one part */
};
static inline unsigned char *compute_kv_block(const struct compute_kv *kv, uint32_t block)
{
    return kv->base + (uint64_t)(block / kv->blocks_per_unit) * kv->unit_bytes +
           (uint64_t)(block % kv->blocks_per_unit) * kv->block_bytes;
}
/* Returns the bytes of one head's keys or values in a block. */
static inline size_t compute_kv_part_bytes(const struct compute_kv *kv)
{
    return (size_t)kv->block_tokens * (size_t)dtype_row_bytes(kv->dtype, kv->head_dim);
}
/* Returns the place in a block of one head's rows (block_tokens, head_dim) of keys (part 0) or
 * values (1). */
static inline size_t compute_kv_offset(const struct compute_kv *kv, int layer, int part, int head)
{
    size_t n_parts = kv->has_keys_only ? 1 : 2, nth = kv->has_keys_only ? 0 : (size_t)part;
    size_t rows =
        ((size_t)layer * n_parts + nth) * (size_t)kv->n_kv_heads + (size_t)(kv->first_head + head);
    return rows * compute_kv_part_bytes(kv);
}

struct compute_sequence {
    int32_t first_row, n_rows; /* its rows of this pass, consecutive positions */
    int32_t n_before;          /* positions computed before: row first_row has position n_before */
    /* Block table covering n_before + n_rows positions; by head (n_layers, n_kv_heads, stride)
     * units, the first of each row covering them. */
    const uint32_t *blocks;
    uint32_t stride;
};
/* Returns the rows (block_tokens, head_dim) of one head's keys (part 0) or values (1) in the k-th
 * block of a sequence. */
static inline unsigned char *compute_kv_rows(const struct compute_kv *kv,
                                             const struct compute_sequence *sequence, int32_t k,
                                             int layer, int part, int head)
{
    if (!kv->is_by_head)
        return compute_kv_block(kv, sequence->blocks[k]) + compute_kv_offset(kv, layer, part, head);
    size_t row = (size_t)layer * (size_t)kv->n_kv_heads + (size_t)(kv->first_head + head);
    return kv->base +
           (uint64_t)sequence->blocks[row * sequence->stride + (size_t)k] * kv->unit_bytes +
           (kv->has_keys_only ? 0 : (size_t)part) * compute_kv_part_bytes(kv);
}
/* Returns a code that is used instead of an id: the token that the previous pass of the same
 * workspace drew from its logit row r. */
static inline int32_t compute_drawn(int32_t r)
{
    return -1 - r;
}

/* Prompt rows and generated rows have one arithmetic on the CPU. A device with different kernels
 * for many rows and for few chooses by the class, never by the number of rows, so that a request's
 * tokens do not depend on the batch. */
enum compute_row_class { COMPUTE_ROW_PROMPT, COMPUTE_ROW_GENERATED };

enum compute_ask_kind {
    COMPUTE_ASK_NONE,   /* logits alone, for a pass that has room for them */
    COMPUTE_ASK_TOKEN,  /* draws the token behind the history */
    COMPUTE_ASK_SCORE,  /* computes the log probability of `id`, such as a prompt's next token */
    COMPUTE_ASK_VECTOR, /* no logits: the row belongs to one of the pass's vectors */
};
/* The ask of one row of logits. A request with drafts has several rows, each with a longer
 * history. */
struct compute_ask {
    uint8_t kind;                    /* enum compute_ask_kind */
    int32_t id, n_top;               /* SCORE; how many of the most likely ids are listed */
    const struct request_body *body; /* TOKEN: sampling, seed, stop ids, biases */
    const int32_t *tokens;           /* the history: (n_tokens) prompt and generated */
    int32_t n_prompt, n_tokens;
    int32_t follows; /* compute_drawn(r): that token is the history's last; >= 0: there is none */
    /* A bit per id, set when it may be drawn; at least one is. (n_vocabulary / 32, rounded up).
     * NULL: all may be drawn. */
    const uint32_t *mask;
    struct token_logprobs *logprobs; /* out: for the drawn or given id and the most likely ones */
};

/* Adds rows [first, first + n) of the source of VECTORS to a sum, one by one and upwards. So the
 * sum does not depend on the passes that its rows came in. */
struct compute_vector {
    int32_t first, n;
    float *sum; /* (width of the source) host memory; no other work touches it meanwhile */
};

struct compute_workspace; /* see compute/device.h */
struct compute_pass {
    struct compute_work work;
    const struct compute_program *program;
    struct compute_workspace *workspace;
    int32_t n_rows;
    const int32_t *ids;       /* (n_rows) token ids of the vocabulary, or compute_drawn(r) */
    const uint8_t *classes;   /* (n_rows) enum compute_row_class; NULL: all are PROMPT */
    const int32_t *positions; /* (n_rows) */
    int32_t n_sequences;
    const struct compute_sequence *sequences;
    struct compute_kv kv;
    int32_t n_logit_rows;
    const int32_t *logit_rows;            /* (n_logit_rows) rows that need logits */
    const struct compute_ask *asks;       /* (n_logit_rows); NULL: all are NONE */
    int32_t *drawn;                       /* (n_logit_rows) out: ids, for TOKEN */
    int32_t n_vectors;                    /* 0, unless the device has vectors */
    const struct compute_vector *vectors; /* (n_vectors) */
    bool has_late_masks; /* the masks are written after begin: compute_device.masks tells when */
    /* (n_logit_rows, n_vocabulary) out, as computed when nothing is drawn: for tests and
     * measurements. NULL: logits stay on the device. The ranks of a group share one. */
    float *logits;
    struct compute_pass_shapes shapes; /* none: all zero */
    _Atomic bool has_masks;            /* the device's */
};
/* Returns whether a row of the pass needs logits. */
static inline bool compute_pass_wants_logits(const struct compute_pass *pass)
{
    for (int32_t row = 0; row < pass->n_logit_rows && pass->asks != NULL; row++)
        if (pass->asks[row].kind != COMPUTE_ASK_VECTOR)
            return true;
    return pass->asks == NULL && pass->n_logit_rows > 0;
}
