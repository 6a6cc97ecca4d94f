/* Reads hello and frames of the bus as a hostile machine may send them, in pieces.
 *
 * The input: pieces, each one byte n and n + 1 bytes. They arrive one after the other, and what is
 * whole is taken as the port takes it. Nothing may be taken that was not sent, and what is bad
 * stays bad. A message that passes its check is one that message_fuzz.c reads. */
#include "base/mem.h"
#include "cluster/frame.h"
#include "cluster/message.h"
#include <event2/buffer.h>
#include <string.h>

enum state { HELLO, FRAMES, BAD };

struct stream {
    struct evbuffer *in;
    enum state state;
    uint8_t *sent; /* all that arrived */
    size_t n_sent, n_taken;
};

static void take_frames(struct stream *s)
{
    size_t n_message;
    enum cluster_frame_found found;
    while ((found = cluster_frame_look(s->in, &n_message)) == CLUSTER_FRAME_WHOLE) {
        unsigned char *message = mem_take(n_message); /* no more, so that a write behind is seen */
        CHECK(n_message <= MESSAGE_BYTES_MAX && n_message >= sizeof(struct message_head));
        bool is_good = cluster_frame_take(s->in, message, n_message);
        CHECK(memcmp(message, s->sent + s->n_taken + FRAME_HEAD_BYTES, n_message) == 0);
        s->n_taken += cluster_frame_bytes(n_message);
        CHECK(s->n_taken + evbuffer_get_length(s->in) == s->n_sent);
        (void)cluster_message_is_valid(message, n_message, 4);
        mem_give(message);
        if (!is_good) {
            s->state = BAD;
            return;
        }
    }
    if (found == CLUSTER_FRAME_BAD)
        s->state = BAD;
}

static void take(struct stream *s)
{
    uint32_t version;
    enum cluster_frame_found found = CLUSTER_FRAME_WHOLE;
    if (s->state == HELLO) {
        found = cluster_frame_take_hello(s->in, &version);
        s->state = found == CLUSTER_FRAME_BAD ? BAD : found == CLUSTER_FRAME_WHOLE ? FRAMES : HELLO;
        s->n_taken = s->state == FRAMES ? FRAME_HELLO_BYTES : 0;
    }
    if (s->state == FRAMES)
        take_frames(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream s = { .in = evbuffer_new(), .sent = mem_take(size + 1) };
    mem_need(s.in != NULL);
    while (size > 0 && s.state != BAD) {
        size_t n = (size_t)data[0] + 1;
        data++;
        size--;
        n = n < size ? n : size;
        if (n > 0)
            memcpy(s.sent + s.n_sent, data, n);
        mem_need(evbuffer_add(s.in, data, n) == 0);
        s.n_sent += n;
        data += n;
        size -= n;
        take(&s);
    }
    evbuffer_free(s.in);
    mem_give(s.sent);
    return 0;
}
