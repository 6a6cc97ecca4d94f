/* The layout of bulk data in a byte stream between two processes or machines.
 *
 *   connection: hello, frame, frame, ...
 *   hello:      "shoalblk", uint32 version, uint32 zero
 *   frame:      struct bulk_head, then n_bytes of payload
 *
 *   PULL  (ticket, engine, index, n)  asks for block `index`, of n bytes, of the offer
 *   BLOCK (index: enum exchange_said)  answers it. Payload of EXCHANGE_BLOCK: the stamp, n bytes
 *   DONE  (ticket, engine)            the offer is not needed any more; it has no answer
 *   ASK   (offset, n)                 asks for a part of a file. Payload: its SHA-256, 32 bytes
 *   PART  (index: enum bulk_said, offset: bytes of the whole file)  answers it. Payload of HERE:
 *         n bytes, fewer than were asked for at the file's end alone
 *
 * Both ends may ask. An answer has the serial of its question. Numbers are little-endian. A reader
 * checks the head before it takes memory for the payload: a kind, length or value that no frame has
 * ends the connection, and so does an answer that was not asked for. */
#pragma once
#include "cluster/frame.h"

enum { BULK_VERSION = 1, BULK_HELLO_BYTES = 16, BULK_SHA256_BYTES = 32 };
#define BULK_BLOCK_BYTES_MAX ((int64_t)64 << 20)
#define BULK_PART_BYTES_MAX  ((int64_t)1 << 20)
enum bulk_kind { BULK_PULL = 1, BULK_BLOCK, BULK_DONE, BULK_ASK, BULK_PART };
enum bulk_said {
    BULK_HERE,
    BULK_LATER, /* the sender is at its bounds: ask again */
    BULK_GONE   /* it is not there */
};
struct bulk_head {
    uint32_t kind;
    uint32_t n_bytes; /* of the payload */
    uint64_t serial;
    uint64_t ticket;
    int64_t n; /* bytes of data that are wanted, or follow */
    int64_t offset;
    int32_t index;
    uint16_t engine, zero;
};
_Static_assert(sizeof(struct bulk_head) == 48, "a head has no gaps");

void bulk_frame_hello(unsigned char out[BULK_HELLO_BYTES]);
/* Appends a hello. False: there is no memory for it. */
bool bulk_frame_write_hello(struct evbuffer *out) MUST_USE;
/* Takes the hello at the front out; *version is the one that the sender has. */
enum cluster_frame_found bulk_frame_take_hello(struct evbuffer *in, uint32_t *version);
/* Copies the head at the front, which is checked. WHOLE: the head is there, maybe not its
 * payload. */
enum cluster_frame_found bulk_frame_look(struct evbuffer *in, struct bulk_head *head);
/* Returns whether the head is one that a sender writes. */
bool bulk_frame_is_head(const struct bulk_head *head);
/* Returns the bytes of the stamp and data that a BLOCK of n bytes has behind its head. */
uint32_t bulk_frame_block_bytes(int64_t n);
