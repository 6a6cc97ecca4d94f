/* The exchange: where engines hand the KV of a request over to each other. It has the offers of the
 * engines of one process; a ticket that it does not know is asked for through its remote.
 *
 *   source:    (copied out) --offer--> OFFERED --acknowledged--> TAKEN --withdraw--> gone
 *                                         |-----10 s, lost, closed-----withdraw--> gone
 *   receiver:  (room is reserved) --pull block 0, 1, ...--> acknowledge
 *
 * The source owns the memory and frees it; a withdrawal waits for a copy in progress. The receiver
 * checks every block by its stamp and uses nothing that does not match: engine/handover.h. All
 * functions may be called by any thread. */
#pragma once
#include "base/hash.h"
#include "kv/host.h"

struct exchange;

/* The stamp travels with each block. The receiver checks all of it. */
struct exchange_stamp {
    uint64_t session;        /* the source engine's life */
    uint64_t serial;         /* of the offer in that life */
    uint64_t id;             /* the request's */
    uint64_t service;        /* hash of its name, model file and settings */
    uint64_t arithmetic;     /* of model, device, KV type and ranks: run_model.arithmetic */
    struct hash128 tokens;   /* SHA-256 of all tokens up to the block's end, by a chain of blocks */
    struct hash128 checksum; /* of the bytes */
    int64_t bytes_per_token, block_bytes; /* KV type and layout */
    int32_t block_tokens, units_per_block;
    uint32_t epoch;           /* of the submission that computed it */
    int32_t position;         /* of the block's first token */
    int32_t n_tokens;         /* of the block that are computed */
    int32_t n_prompt;         /* row class: rows from this position on are generated rows, */
    uint32_t has_row_classes; /* and whether these have other bits */
    uint32_t kind;            /* enum kv_kind */
};

enum exchange_said {
    EXCHANGE_BLOCK, /* stamp and bytes are there */
    EXCHANGE_LATER, /* try again */
    EXCHANGE_GONE   /* it was withdrawn, or never was */
};
/* The way to the offers of other processes and machines: bulk/pulls.h. Its functions do as those of
 * the exchange, and never wait. */
struct exchange_remote {
    void *self;
    enum exchange_said (*pull)(void *self, uint64_t ticket, int32_t i, struct exchange_stamp *stamp,
                               void *to, int64_t n_bytes);
    void (*acknowledge)(void *self, uint64_t ticket);
};
struct exchange_options {
    uint64_t seed; /* of tickets */
    uint32_t n_offers_max;
    /* NULL, or the way of each block from source to receiver, which may change, delay or lose it.
     * Only for tests. */
    enum exchange_said (*pass)(void *self, struct exchange_stamp *stamp, void *bytes, int64_t n);
    void *pass_self;
    struct exchange_remote remote; /* pull NULL: there is none */
};
struct exchange *exchange_open(const struct exchange_options *options);
void exchange_close(struct exchange *exchange); /* all is withdrawn by now */
/* Returns the session of an engine that opens. */
uint64_t exchange_begin(struct exchange *exchange);

struct exchange_offer {
    struct exchange_stamp stamp; /* of all blocks; block by block come position and the hashes */
    int32_t n_positions;
    struct kv_host_view view; /* of the blocks, in memory at base; constant until withdrawn */
    const unsigned char *base;
    const struct hash128 *tokens; /* per block; lent until withdrawn */
    void (*wake)(void *self);     /* called when it was acknowledged, under the exchange's lock */
    void *wake_self;
};
/* Returns the ticket; 0: there is no room. */
uint64_t exchange_offer(struct exchange *exchange, const struct exchange_offer *offer);
bool exchange_is_taken(struct exchange *exchange, uint64_t ticket);
void exchange_withdraw(struct exchange *exchange, uint64_t ticket);

/* Returns the ticket of an offer, which names its stamp. */
uint64_t exchange_ticket(const struct exchange_stamp *stamp);
/* Copies block i, of n_bytes, to `to`. Blocks are asked for from 0 on; i may repeat or restart. */
enum exchange_said exchange_pull(struct exchange *exchange, uint64_t ticket, int32_t i,
                                 struct exchange_stamp *stamp, void *to, int64_t n_bytes);
/* The same, of the offers of this process alone, for a receiver elsewhere. */
enum exchange_said exchange_pull_here(struct exchange *exchange, uint64_t ticket, int32_t i,
                                      struct exchange_stamp *stamp, void *to, int64_t n_bytes);
/* Returns whether this process offers such a block, of n_bytes. It may be gone a moment later. */
bool exchange_has_here(struct exchange *exchange, uint64_t ticket, int32_t i, int64_t n_bytes);
void exchange_acknowledge(struct exchange *exchange, uint64_t ticket); /* the source may free it */
/* The same, of the offers of this process alone. Returns whether it has such an offer. */
bool exchange_acknowledge_here(struct exchange *exchange, uint64_t ticket);
