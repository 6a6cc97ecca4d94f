/* Frames in libevent's buffers. */
#include "cluster/frame.h"

#include "cluster/message.h"
#include <event2/buffer.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records travel as they lie in memory");

static const char MAGIC[8] = { 's', 'h', 'o', 'a', 'l', 'b', 'u', 's' };
static const unsigned char ZEROES[8];

struct frame_head {
    uint32_t n_bytes, zero;
};
struct frame_hello {
    char magic[8];
    uint32_t version, zero;
};
_Static_assert(sizeof(struct frame_head) == FRAME_HEAD_BYTES, "a head has no gaps");
_Static_assert(sizeof(struct frame_hello) == FRAME_HELLO_BYTES, "a hello has no gaps");

size_t cluster_frame_bytes(size_t n_message)
{
    return FRAME_HEAD_BYTES + (size_t)align_up_u64(n_message, 8);
}

bool cluster_frame_write_hello(struct evbuffer *out)
{
    struct frame_hello hello = { .version = MESSAGE_VERSION };
    memcpy(hello.magic, MAGIC, sizeof hello.magic);
    return evbuffer_add(out, &hello, sizeof hello) == 0;
}

bool cluster_frame_write(struct evbuffer *out, const void *part1, size_t n1, const void *part2,
                         size_t n2)
{
    const struct frame_head head = { .n_bytes = (uint32_t)(n1 + n2) };
    size_t n_frame = cluster_frame_bytes(n1 + n2);
    CHECK(n1 + n2 <= MESSAGE_BYTES_MAX);
    return evbuffer_expand(out, n_frame) == 0 && evbuffer_add(out, &head, sizeof head) == 0 &&
           evbuffer_add(out, part1, n1) == 0 && (n2 == 0 || evbuffer_add(out, part2, n2) == 0) &&
           evbuffer_add(out, ZEROES, n_frame - sizeof head - n1 - n2) == 0;
}

enum cluster_frame_found cluster_frame_take_hello_of(struct evbuffer *in, const char magic[8],
                                                     uint32_t *version)
{
    struct frame_hello hello;
    size_t n = evbuffer_get_length(in);
    ev_ssize_t n_read = evbuffer_copyout(in, &hello, n < sizeof hello ? n : sizeof hello);
    size_t n_magic = n < sizeof hello.magic ? n : sizeof hello.magic;
    if (n_read < 0 || memcmp(hello.magic, magic, n_magic) != 0)
        return CLUSTER_FRAME_BAD; /* seen at the first byte that is wrong */
    if ((size_t)n_read < sizeof hello)
        return CLUSTER_FRAME_PARTIAL;
    *version = hello.version;
    return evbuffer_drain(in, sizeof hello) == 0 && hello.zero == 0 ? CLUSTER_FRAME_WHOLE
                                                                    : CLUSTER_FRAME_BAD;
}

enum cluster_frame_found cluster_frame_take_hello(struct evbuffer *in, uint32_t *version)
{
    return cluster_frame_take_hello_of(in, MAGIC, version);
}

enum cluster_frame_found cluster_frame_look(struct evbuffer *in, size_t *n_message)
{
    struct frame_head head;
    size_t n = evbuffer_get_length(in);
    if (n < sizeof head)
        return CLUSTER_FRAME_PARTIAL;
    if (evbuffer_copyout(in, &head, sizeof head) != sizeof head || head.zero != 0 ||
        head.n_bytes < sizeof(struct message_head) || head.n_bytes > MESSAGE_BYTES_MAX)
        return CLUSTER_FRAME_BAD;
    *n_message = head.n_bytes;
    return n < cluster_frame_bytes(head.n_bytes) ? CLUSTER_FRAME_PARTIAL : CLUSTER_FRAME_WHOLE;
}

bool cluster_frame_take(struct evbuffer *in, void *message, size_t n_message)
{
    unsigned char behind[8] = { 0 };
    size_t n_behind = cluster_frame_bytes(n_message) - FRAME_HEAD_BYTES - n_message;
    return evbuffer_drain(in, FRAME_HEAD_BYTES) == 0 &&
           evbuffer_remove(in, message, n_message) == (int)n_message &&
           evbuffer_remove(in, behind, n_behind) == (int)n_behind &&
           memcmp(behind, ZEROES, sizeof behind) == 0;
}
