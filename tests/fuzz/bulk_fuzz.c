/* The bytes that a hostile process or machine sends to a door: hello and frames, in pieces.
 *
 * The input: pieces, each one byte n and n + 1 bytes. The door has an offer, whose ticket is
 * always the same (corpus/bulk/pull has it), and asks for
 * blocks of ticket 77, so that both questions and answers may come. A block that arrives has the
 * size that was asked for, and all memory comes back. */
#include "base/mem.h"
#include "base/team.h"
#include "bulk/pulls.h"
#include "bulk/state.h"
#include "engine/exchange.h"
#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64, BLOCKS = 2 };

static struct bulk_door *open_door(struct exchange *exchange, struct bulk_pulls *pulls)
{
    struct bulk_door *door = mem_take(sizeof *door);
    door->options =
        (struct bulk_door_options){ .exchange = exchange, .pulls = pulls, .parent_fd = 0 };
    door->lock = lock_open();
    map_init(&door->by_ticket, BULK_PLACES);
    door->base = event_base_new();
    mem_need(door->base != NULL);
    for (int i = 0; i < BULK_ENDS; i++) {
        door->ends[i].door = door;
        door->ends[i].kind = i == 0 ? BULK_PARENT : BULK_CHILD;
    }
    return door;
}

static void close_door(struct bulk_door *door)
{
    bulk_end_break(&door->ends[0], NULL);
    for (int i = 0; i < BULK_RELAYS; i++)
        CHECK(door->relays[i].serial == 0);
    (void)event_base_loop(door->base, EVLOOP_NONBLOCK);
    event_base_free(door->base);
    map_free(&door->by_ticket);
    lock_close(door->lock);
    mem_give(door);
}

static void pull(struct exchange *exchange)
{
    struct exchange_stamp stamp;
    unsigned char *to = mem_take(BLOCK_BYTES); /* no more, so that a write behind is seen */
    for (int32_t i = 0; i < 3; i++)
        if (exchange_pull(exchange, 77, i, &stamp, to, BLOCK_BYTES) != EXCHANGE_BLOCK)
            break;
    mem_give(to);
}

static void feed(struct bulk_door *door, int fd, const uint8_t *data, size_t size)
{
    char answers[4096];
    while (size > 0 && door->ends[0].state != BULK_FREE) {
        size_t n = (size_t)data[0] + 1;
        data++;
        size--;
        n = n < size ? n : size;
        if (n > 0 && send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
            return;
        data += n;
        size -= n;
        for (int i = 0; i < 3; i++)
            (void)event_base_loop(door->base, EVLOOP_NONBLOCK);
        while (recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0)
            continue;
        pull(door->options.exchange);
        bulk_relay_wishes(door);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct hash128 tokens[BLOCKS];
    static const uint32_t pages[1];
    static unsigned char bytes[BLOCKS * BLOCK_BYTES];
    int fds[2];
    struct bulk_pulls *pulls = bulk_pulls_open();
    struct exchange *exchange = exchange_open(&(struct exchange_options){
        .seed = 1, .n_offers_max = 2, .remote = bulk_pulls_remote(pulls) });
    struct bulk_door *door = open_door(exchange, pulls);
    const struct exchange_offer offer = { .stamp = { .block_bytes = BLOCK_BYTES,
                                                     .block_tokens = 16 },
                                          .n_positions = 16 * BLOCKS,
                                          .view = { .next = pages,
                                                    .n_blocks = BLOCKS,
                                                    .per_page = BLOCKS,
                                                    .page_bytes = sizeof bytes,
                                                    .block_bytes = BLOCK_BYTES },
                                          .base = bytes,
                                          .tokens = tokens };
    uint64_t ticket = exchange_offer(exchange, &offer);
    mem_need(ticket != 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    bulk_end_join(&door->ends[0], fds[0], "a rogue");
    pull(exchange);
    bulk_relay_wishes(door);
    feed(door, fds[1], data, size);
    close_door(door);
    close(fds[1]);
    exchange_withdraw(exchange, ticket);
    exchange_close(exchange);
    bulk_pulls_close(pulls);
    return 0;
}
