/* Collectives over shared memory. Each wait is for a counter of one rank to reach a value; a rank
 * that changes a counter wakes the ranks that sleep on it.
 *
 *   announced  pieces that a rank has put into its slots
 *   sent       pieces that it has put into its ring, for the next rank
 *   received   pieces that it has taken out of the previous rank's ring */
#include "compute/group.h"

#include "base/time.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAGIC      UINT64_C(0x3170756f72676873) /* "shgroup1" */
#define SPIN_NS    50000                        /* longer than the work between two sums */
#define SPIN_BURST 64                           /* pauses between two looks at the clock */
#define LOOK_NS    20000000 /* A rank that sleeps looks this often whether its peer lives. */

enum { N_SLOTS = 2 };

struct counter {
    _Alignas(64) _Atomic uint32_t value;
    _Atomic uint32_t sleepers; /* ranks that may sleep on it; one that was killed still counts */
};
struct shared_rank {
    struct counter announced;
    uint64_t sizes[N_SLOTS]; /* of the whole values whose piece is in the slot */
    struct counter sent, received;
    uint32_t piece_bytes[COMPUTE_GROUP_RING_PIECES];
    _Atomic int32_t pid; /* 0: it has not begun */
};
struct compute_group_shared {
    uint64_t magic;
    int32_t n_ranks;
    _Alignas(64) _Atomic uint32_t has_failed;
    struct shared_rank ranks[COMPUTE_GROUP_RANKS_MAX];
    _Alignas(64) unsigned char bytes[]; /* slots, then rings */
};

static size_t all_bytes(int32_t n_ranks)
{
    return sizeof(struct compute_group_shared) +
           (size_t)n_ranks * (N_SLOTS + COMPUTE_GROUP_RING_PIECES) * COMPUTE_GROUP_SLOT_BYTES;
}

static unsigned char *slot_at(struct compute_group_shared *shared, int32_t rank, uint32_t piece)
{
    size_t slot = (size_t)rank * N_SLOTS + piece % N_SLOTS;
    return shared->bytes + slot * COMPUTE_GROUP_SLOT_BYTES;
}

static unsigned char *ring_at(struct compute_group_shared *shared, int32_t rank, uint32_t piece)
{
    size_t slot = (size_t)shared->n_ranks * N_SLOTS + (size_t)rank * COMPUTE_GROUP_RING_PIECES +
                  piece % COMPUTE_GROUP_RING_PIECES;
    return shared->bytes + slot * COMPUTE_GROUP_SLOT_BYTES;
}

/* ---- The segment. ---- */

static enum status map_segment(struct compute_group *group, size_t n_bytes, struct fault *fault)
{
    void *map = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, group->fd, 0);
    if (map == MAP_FAILED)
        return fault_set(fault, STATUS_IO, "can't map the memory that a group's ranks share: %s",
                         strerror(errno));
    group->shared = map;
    group->n_bytes = n_bytes;
    return STATUS_OK;
}

enum status compute_group_open(struct compute_group *group, int32_t n_ranks, struct fault *fault)
{
    *group = (struct compute_group){ .fd = -1 };
    if (n_ranks < 1 || n_ranks > COMPUTE_GROUP_RANKS_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "a group of %d ranks: expected 1 to %d", n_ranks,
                         COMPUTE_GROUP_RANKS_MAX);
    group->fd = memfd_create("shoal-group", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (group->fd < 0 || ftruncate(group->fd, (off_t)all_bytes(n_ranks)) != 0 ||
        fcntl(group->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        int error = errno;
        compute_group_close(group);
        return fault_set(fault, STATUS_IO, "can't make memory that a group's ranks share: %s",
                         strerror(error));
    }
    enum status status = map_segment(group, all_bytes(n_ranks), fault);
    if (status != STATUS_OK) {
        compute_group_close(group);
        return status;
    }
    group->shared->n_ranks = n_ranks;
    group->shared->magic = MAGIC;
    return STATUS_OK;
}

enum status compute_group_join(struct compute_group *group, int fd, struct fault *fault)
{
    struct stat file;
    *group = (struct compute_group){ .fd = fd };
    enum status status = STATUS_BAD_INPUT;
    if (fstat(fd, &file) == 0 && file.st_size >= (off_t)all_bytes(1) &&
        file.st_size <= (off_t)all_bytes(COMPUTE_GROUP_RANKS_MAX))
        status = map_segment(group, (size_t)file.st_size, fault);
    const struct compute_group_shared *shared = group->shared;
    if (status == STATUS_OK &&
        (shared->magic != MAGIC || shared->n_ranks < 1 ||
         shared->n_ranks > COMPUTE_GROUP_RANKS_MAX || all_bytes(shared->n_ranks) != group->n_bytes))
        status = STATUS_BAD_INPUT;
    if (status == STATUS_BAD_INPUT)
        (void)fault_set(fault, status, "descriptor %d is not the memory of a group", fd);
    if (status != STATUS_OK)
        compute_group_close(group);
    return status;
}

void compute_group_close(struct compute_group *group)
{
    if (group->shared != NULL)
        CHECK(munmap(group->shared, group->n_bytes) == 0);
    if (group->fd >= 0)
        close(group->fd);
    *group = (struct compute_group){ .fd = -1 };
}

int32_t compute_group_size(const struct compute_group *group)
{
    return group->shared->n_ranks;
}

void compute_group_rank_init(struct compute_group_rank *rank, struct compute_group *group,
                             int32_t index)
{
    CHECK(index >= 0 && index < group->shared->n_ranks);
    *rank = (struct compute_group_rank){ .group = group, .index = index };
    atomic_store(&group->shared->ranks[index].pid, (int32_t)getpid());
}

void compute_group_rank_free(struct compute_group_rank *rank)
{
    for (int32_t r = 0; r < COMPUTE_GROUP_RANKS_MAX; r++)
        if (rank->watched[r] > 0)
            close(rank->watched[r]);
    *rank = (struct compute_group_rank){ 0 };
}

/* ---- Waits. ---- */

static void futex(struct counter *counter, int op, uint32_t value, const struct timespec *timeout)
{
    syscall(SYS_futex, &counter->value, op, value, timeout, NULL, 0);
}

static bool has_reached(const struct counter *counter, uint32_t value)
{
    uint32_t seen = atomic_load_explicit(&counter->value, memory_order_acquire);
    return (int32_t)(seen - value) >= 0;
}

static void publish(struct counter *counter, uint32_t value)
{
    atomic_store(&counter->value, value);
    if (atomic_load(&counter->sleepers) > 0)
        futex(counter, FUTEX_WAKE, INT32_MAX, NULL);
}

void compute_group_fail(struct compute_group *group)
{
    atomic_store(&group->shared->has_failed, 1);
    for (int32_t r = 0; r < group->shared->n_ranks; r++) {
        struct shared_rank *rank = &group->shared->ranks[r];
        futex(&rank->announced, FUTEX_WAKE, INT32_MAX, NULL);
        futex(&rank->sent, FUTEX_WAKE, INT32_MAX, NULL);
        futex(&rank->received, FUTEX_WAKE, INT32_MAX, NULL);
    }
}

bool compute_group_has_failed(const struct compute_group *group)
{
    return atomic_load(&group->shared->has_failed) != 0;
}

/* Opens a descriptor that tells when the peer's process ends. It is opened as soon as the peer has
 * taken part in a call, so that its process id can't yet be another process's. */
static void watch(struct compute_group_rank *rank, int32_t peer)
{
    pid_t pid = atomic_load(&rank->group->shared->ranks[peer].pid);
    if (rank->watched[peer] != 0 || pid == 0)
        return;
    rank->watched[peer] = -1;
    if (pid == getpid())
        return;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0)
        rank->watched[peer] = fd;
    else if (errno == ESRCH)
        compute_group_fail(rank->group);
}

/* Returns whether the process of any peer has ended: the one that this rank waits for may itself
 * wait for another, or compute. */
static bool has_lost_one(struct compute_group_rank *rank)
{
    for (int32_t peer = 0; peer < rank->group->shared->n_ranks; peer++) {
        watch(rank, peer);
        struct pollfd ended = { .fd = rank->watched[peer], .events = POLLIN };
        if (ended.fd > 0 && poll(&ended, 1, 0) == 1)
            return true;
    }
    return false;
}

/* Waits until the peer's counter has reached the value. Returns false when the group has failed. */
static bool wait_for(struct compute_group_rank *rank, int32_t peer, struct counter *counter,
                     uint32_t value)
{
    struct compute_group *group = rank->group;
    int64_t end_ns = 0;
    for (bool is_spinning = true; is_spinning;) {
        for (int i = 0; i < SPIN_BURST && !has_reached(counter, value); i++)
            base_relax();
        int64_t now_ns = has_reached(counter, value) ? 0 : time_now_ns();
        end_ns = end_ns == 0 ? now_ns + SPIN_NS : end_ns;
        is_spinning = now_ns != 0 && now_ns < end_ns;
    }
    if (!has_reached(counter, value)) {
        const struct timespec look = { 0, LOOK_NS };
        atomic_fetch_add(&counter->sleepers, 1);
        for (uint32_t seen; seen = atomic_load(&counter->value), (int32_t)(seen - value) < 0;) {
            if (compute_group_has_failed(group))
                break;
            futex(counter, FUTEX_WAIT, seen, &look);
            if (!has_reached(counter, value) && has_lost_one(rank))
                compute_group_fail(group);
        }
        atomic_fetch_sub(&counter->sleepers, 1);
    }
    if (rank->watched[peer] == 0)
        watch(rank, peer);
    return !compute_group_has_failed(group);
}

/* Announces a piece of values of this size and waits for those of all ranks. */
static bool meet(struct compute_group_rank *rank, uint64_t size)
{
    struct compute_group_shared *shared = rank->group->shared;
    uint32_t piece = rank->n_announced++;
    shared->ranks[rank->index].sizes[piece % N_SLOTS] = size;
    publish(&shared->ranks[rank->index].announced, piece + 1);
    for (int32_t r = 0; r < shared->n_ranks; r++) {
        if (r != rank->index && !wait_for(rank, r, &shared->ranks[r].announced, piece + 1))
            return false;
        if (shared->ranks[r].sizes[piece % N_SLOTS] != size)
            compute_group_fail(rank->group);
    }
    return !compute_group_has_failed(rank->group);
}

/* ---- Collectives. ---- */

bool compute_group_sum(struct compute_group_rank *rank, const float *x, float *out, int64_t n)
{
    enum { PIECE = COMPUTE_GROUP_SLOT_BYTES / sizeof(float) };
    struct compute_group_shared *shared = rank->group->shared;
    CHECK(n >= 0);
    if (compute_group_has_failed(rank->group)) /* a slower rank may still read this rank's slots */
        return false;
    for (int64_t at = 0; at < n || at == 0; at += PIECE) {
        uint32_t piece = rank->n_announced;
        size_t n_now = (size_t)(n - at < PIECE ? n - at : PIECE);
        if (n_now > 0)
            memcpy(slot_at(shared, rank->index, piece), x + at, n_now * sizeof(float));
        if (!meet(rank, (uint64_t)n * 2))
            return false;
        if (n_now == 0)
            continue;
        float *restrict to = out + at;
        memcpy(to, slot_at(shared, 0, piece), n_now * sizeof(float));
        for (int32_t r = 1; r < shared->n_ranks; r++) {
            const float *restrict from = (const float *)(void *)slot_at(shared, r, piece);
            for (size_t i = 0; i < n_now; i++)
                to[i] += from[i];
        }
    }
    return true;
}

/* The bytes of one's part that are in the piece at this offset. */
static size_t part_bytes(int64_t n_bytes, int64_t at)
{
    int64_t left = n_bytes - at;
    return (size_t)(left < 0                          ? 0
                    : left < COMPUTE_GROUP_SLOT_BYTES ? left
                                                      : COMPUTE_GROUP_SLOT_BYTES);
}

bool compute_group_gather(struct compute_group_rank *rank, const void *x, const int64_t *n_bytes,
                          void *out)
{
    struct compute_group_shared *shared = rank->group->shared;
    int64_t longest = 0;
    uint64_t all = 0; /* of the sizes in their order */
    for (int32_t r = 0; r < shared->n_ranks; r++) {
        CHECK(n_bytes[r] >= 0);
        longest = longest > n_bytes[r] ? longest : n_bytes[r];
        all = all * 31 + (uint64_t)n_bytes[r];
    }
    if (compute_group_has_failed(rank->group))
        return false;
    for (int64_t at = 0; at < longest || at == 0; at += COMPUTE_GROUP_SLOT_BYTES) {
        uint32_t piece = rank->n_announced;
        size_t n_own = part_bytes(n_bytes[rank->index], at);
        if (n_own > 0)
            memcpy(slot_at(shared, rank->index, piece), (const unsigned char *)x + at, n_own);
        if (!meet(rank, all * 2 + 1))
            return false;
        unsigned char *to = out;
        for (int32_t r = 0; r < shared->n_ranks && out != NULL; to += n_bytes[r++]) {
            size_t n = part_bytes(n_bytes[r], at);
            if (n > 0)
                memcpy(to + at, slot_at(shared, r, piece), n);
        }
    }
    return true;
}

bool compute_group_send(struct compute_group_rank *rank, const void *x, int64_t n_bytes)
{
    struct compute_group_shared *shared = rank->group->shared;
    struct shared_rank *own = &shared->ranks[rank->index];
    int32_t next = (rank->index + 1) % shared->n_ranks;
    CHECK(n_bytes >= 0);
    for (int64_t at = 0; at < n_bytes; at += COMPUTE_GROUP_SLOT_BYTES) {
        uint32_t piece = rank->n_sent;
        size_t n = part_bytes(n_bytes, at);
        if (!wait_for(rank, next, &shared->ranks[next].received,
                      piece + 1 - COMPUTE_GROUP_RING_PIECES))
            return false;
        memcpy(ring_at(shared, rank->index, piece), (const unsigned char *)x + at, n);
        own->piece_bytes[piece % COMPUTE_GROUP_RING_PIECES] = (uint32_t)n;
        publish(&own->sent, ++rank->n_sent);
    }
    return !compute_group_has_failed(rank->group);
}

bool compute_group_receive(struct compute_group_rank *rank, void *out, int64_t n_bytes)
{
    struct compute_group_shared *shared = rank->group->shared;
    int32_t before = (rank->index + shared->n_ranks - 1) % shared->n_ranks;
    struct shared_rank *from = &shared->ranks[before];
    CHECK(n_bytes >= 0);
    for (int64_t at = 0; at < n_bytes; at += COMPUTE_GROUP_SLOT_BYTES) {
        uint32_t piece = rank->n_received;
        size_t n = part_bytes(n_bytes, at);
        if (!wait_for(rank, before, &from->sent, piece + 1))
            return false;
        if (from->piece_bytes[piece % COMPUTE_GROUP_RING_PIECES] != n) {
            compute_group_fail(rank->group);
            return false;
        }
        memcpy((unsigned char *)out + at, ring_at(shared, before, piece), n);
        publish(&shared->ranks[rank->index].received, ++rank->n_received);
    }
    return !compute_group_has_failed(rank->group);
}
