/* The memory that an engine's process shares with its parent: one memfd with a head, the options of
 * the engine, and three rings.
 *
 *   head | options | down (parent -> child) | up (child -> parent) | events (engine -> parent)
 *
 * Events of requests have a ring of their own, which the engine's thread writes. So a token takes
 * no detour through the child's main thread, which writes the other ring.
 *
 * The descriptor is sealed against another size, so the child can't shorten the parent's mapping.
 * Records are flat (process/record.h). Each is published by one release store, so one that the
 * parent sees is whole even if its writer was killed. Wakes are eventfds. One may be lost with a
 * process that is killed; so after a death the parent drains the ring once more.
 *
 * The child parses model files. So the parent trusts nothing here: it knows capacities itself, it
 * copies each record before it checks it, and it checks every field. A child that could call the
 * system on an attacker's behalf is beyond this: it has the rights of its user. */
#pragma once
#include "base/ring.h"
#include "base/status.h"
#include "base/wake.h"
#include "core/limits.h"

enum { PROCESS_CHANNEL_MARKS = 2, PROCESS_CHANNEL_FDS = 4 };
struct process_channel_head {
    uint64_t magic, options_bytes;
    uint64_t down_bytes, up_bytes, events_bytes; /* capacities of the rings */
    _Alignas(64) _Atomic uint64_t beat; /* the child counts: at least every 200 ms once it runs */
    /* The work of the child, for the blame when it ends: services + 1, 0 = none. Each lane has the
     * service of its last batches, and the one before. */
    _Atomic uint32_t marks[LIMIT_LANES][PROCESS_CHANNEL_MARKS];
    _Atomic uint32_t loading;
};
struct process_channel {
    struct process_channel_head *head;
    void *options;
    struct ring *down, *up, *events;
    uint64_t down_bytes, up_bytes, events_bytes;
    size_t n_bytes; /* of the mapping */
    int fd;
    struct wake down_wake, up_wake; /* down: wakes the child */
    int socket;                     /* descriptors for the child; closed by the parent's end */
    int child_socket;               /* the parent's copy of the other end until the child has it */
};

/* The parent's side: makes all of it. Rings are powers of two. */
enum status process_channel_open(struct process_channel *channel, size_t options_bytes,
                                 uint64_t down_bytes, uint64_t up_bytes, uint64_t events_bytes,
                                 struct fault *fault) MUST_USE;
/* The child's side: fd is the memfd, and its other descriptors follow it in this order: down wake,
 * up wake, socket; behind them, with process_options.has_exchange, that of its bulk door. */
enum status process_channel_join(struct process_channel *channel, int fd,
                                 struct fault *fault) MUST_USE;
void process_channel_close(struct process_channel *channel);
/* Sends a descriptor with a tag to the child, or receives one there (-1: there is none). */
bool process_channel_send_fd(struct process_channel *channel, int fd, uint64_t tag);
int process_channel_take_fd(struct process_channel *channel, uint64_t *tag);
