/* Heads of bulk frames in libevent's buffers. */
#include "bulk/frame.h"

#include "engine/exchange.h"
#include <event2/buffer.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records travel as they lie in memory");
_Static_assert((int)BULK_HERE == (int)EXCHANGE_BLOCK && (int)BULK_LATER == (int)EXCHANGE_LATER &&
                   (int)BULK_GONE == (int)EXCHANGE_GONE,
               "both kinds of answers say the same");

static const char MAGIC[8] = { 's', 'h', 'o', 'a', 'l', 'b', 'l', 'k' };

struct hello {
    char magic[8];
    uint32_t version, zero;
};
_Static_assert(sizeof(struct hello) == BULK_HELLO_BYTES, "a hello has no gaps");

void bulk_frame_hello(unsigned char out[BULK_HELLO_BYTES])
{
    struct hello hello = { .version = BULK_VERSION };
    memcpy(hello.magic, MAGIC, sizeof hello.magic);
    memcpy(out, &hello, sizeof hello);
}

bool bulk_frame_write_hello(struct evbuffer *out)
{
    unsigned char hello[BULK_HELLO_BYTES];
    bulk_frame_hello(hello);
    return evbuffer_add(out, hello, sizeof hello) == 0;
}

enum cluster_frame_found bulk_frame_take_hello(struct evbuffer *in, uint32_t *version)
{
    return cluster_frame_take_hello_of(in, MAGIC, version);
}

uint32_t bulk_frame_block_bytes(int64_t n)
{
    return (uint32_t)((int64_t)sizeof(struct exchange_stamp) + n);
}

/* Checks an answer: it has its data, or says that it has none. */
static bool is_answer(const struct bulk_head *head, int64_t n_min, int64_t n_max, uint32_t n_whole)
{
    if (head->ticket != 0 || head->engine != 0 || head->index < 0 || head->index > BULK_GONE)
        return false;
    if (head->index != BULK_HERE)
        return head->n == 0 && head->n_bytes == 0;
    return head->n >= n_min && head->n <= n_max && head->n_bytes == n_whole;
}

bool bulk_frame_is_head(const struct bulk_head *head)
{
    if (head->zero != 0)
        return false;
    switch (head->kind) {
    case BULK_PULL:
        return head->n_bytes == 0 && head->ticket != 0 && head->index >= 0 && head->offset == 0 &&
               head->n > 0 && head->n <= BULK_BLOCK_BYTES_MAX;
    case BULK_DONE:
        return head->n_bytes == 0 && head->ticket != 0 && head->index == 0 && head->offset == 0 &&
               head->n == 0 && head->serial == 0;
    case BULK_BLOCK:
        return head->offset == 0 &&
               is_answer(head, 1, BULK_BLOCK_BYTES_MAX, bulk_frame_block_bytes(head->n));
    case BULK_ASK:
        return head->n_bytes == BULK_SHA256_BYTES && head->ticket == 0 && head->index == 0 &&
               head->engine == 0 && head->offset >= 0 && head->n > 0 &&
               head->n <= BULK_PART_BYTES_MAX;
    case BULK_PART:
        return head->offset >= 0 && is_answer(head, 0, BULK_PART_BYTES_MAX, (uint32_t)head->n);
    default:
        return false;
    }
}

enum cluster_frame_found bulk_frame_look(struct evbuffer *in, struct bulk_head *head)
{
    if (evbuffer_get_length(in) < sizeof *head)
        return CLUSTER_FRAME_PARTIAL;
    bool is_read = evbuffer_copyout(in, head, sizeof *head) == (ev_ssize_t)sizeof *head;
    return is_read && bulk_frame_is_head(head) ? CLUSTER_FRAME_WHOLE : CLUSTER_FRAME_BAD;
}
