/* The layout of messages in a byte stream between two machines.
 *
 *   connection: hello, frame, frame, ...
 *   hello:      "shoalbus", uint32 message version, uint32 zero
 *   frame:      uint32 bytes of the message, uint32 zero, the message, zeroes up to a multiple of 8
 *
 * Numbers are little-endian, and messages are the records of cluster/message.h. The reader checks
 * all bytes before it uses them. A length that no message has, or a byte that should be zero and is
 * not, ends the connection. No frame makes the reader take memory before its bytes have come. */
#pragma once
#include "base/base.h"

struct evbuffer;
enum { FRAME_HEAD_BYTES = 8, FRAME_HELLO_BYTES = 16 };
enum cluster_frame_found {
    CLUSTER_FRAME_PARTIAL, /* more bytes have to come */
    CLUSTER_FRAME_WHOLE,
    CLUSTER_FRAME_BAD,
};

/* Returns the bytes of a message's frame. */
size_t cluster_frame_bytes(size_t n_message);
/* Appends a hello or a message's frame. False: there is no memory for it, and the stream may be cut
 * in the middle. */
bool cluster_frame_write_hello(struct evbuffer *out);
bool cluster_frame_write(struct evbuffer *out, const void *part1, size_t n1, const void *part2,
                         size_t n2);
/* Takes the hello at the front out; *version is the one that the sender has. */
enum cluster_frame_found cluster_frame_take_hello(struct evbuffer *in, uint32_t *version);
/* The same, of a stream whose hello has another magic. */
enum cluster_frame_found cluster_frame_take_hello_of(struct evbuffer *in, const char magic[8],
                                                     uint32_t *version);
/* Looks at the front. When a frame is whole, sets *n_message to the length of its message. */
enum cluster_frame_found cluster_frame_look(struct evbuffer *in, size_t *n_message);
/* Takes the frame that cluster_frame_look found whole out, and puts its message into memory of
 * n_message bytes. False when the bytes behind the message are not zero. */
bool cluster_frame_take(struct evbuffer *in, void *message, size_t n_message);
