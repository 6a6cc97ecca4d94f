/* A table of tickets that arrive, under one lock, which is held for the copy of one block. */
#include "bulk/pulls.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include <event2/buffer.h>
#include <string.h>

enum { TICKETS_MAX = 128, SLOTS = 8, ACKS_MAX = 1024 };
static const int64_t AHEAD_BYTES = (int64_t)4 << 20; /* of one ticket, or one block */
static const int64_t BYTES_MAX = (int64_t)128 << 20; /* of all */
static const int64_t AGAIN_NS = 5 * TIME_NS_PER_MS;  /* after LATER */
static const int64_t FORGET_NS = 60 * TIME_NS_PER_S; /* a ticket that no engine asks for */

enum slot_state { SLOT_EMPTY, SLOT_WANTED, SLOT_ASKED, SLOT_HERE, SLOT_GONE };
struct slot {
    enum slot_state state;
    int32_t index;
    uint64_t serial;
    int64_t again_ns; /* WANTED: not before */
    struct exchange_stamp stamp;
    unsigned char *bytes; /* (n_bytes) of HERE */
};
struct entry {
    uint64_t ticket; /* 0: unused */
    int64_t n_bytes; /* of a block */
    int64_t used_ns;
    int32_t n_ahead; /* slots that are used */
    int32_t end;     /* the first block that is known not to exist; -1: unknown */
    struct slot slots[SLOTS];
};
struct bulk_pulls {
    struct lock *lock;
    struct wake wake;
    uint64_t n_serials;
    int64_t n_bytes; /* of blocks that came, and room for those that are asked for */
    uint64_t acks[ACKS_MAX];
    uint32_t n_acks;
    struct entry entries[TICKETS_MAX];
};

struct bulk_pulls *bulk_pulls_open(void)
{
    struct bulk_pulls *p = mem_take(sizeof *p);
    p->lock = lock_open();
    wake_open(&p->wake);
    return p;
}

/* ---- The table; needs the lock. ---- */

static void empty(struct bulk_pulls *p, struct entry *entry, struct slot *slot)
{
    if (slot->state == SLOT_WANTED || slot->state == SLOT_ASKED || slot->state == SLOT_HERE)
        p->n_bytes -= entry->n_bytes;
    mem_give(slot->bytes);
    *slot = (struct slot){ .state = SLOT_EMPTY };
}

static void forget(struct bulk_pulls *p, struct entry *entry)
{
    for (int i = 0; i < SLOTS; i++)
        empty(p, entry, &entry->slots[i]);
    entry->ticket = 0;
}

void bulk_pulls_close(struct bulk_pulls *p)
{
    if (p == NULL)
        return;
    for (int i = 0; i < TICKETS_MAX; i++)
        forget(p, &p->entries[i]);
    CHECK(p->n_bytes == 0);
    wake_close(&p->wake);
    lock_close(p->lock);
    mem_give(p);
}

static struct entry *find(struct bulk_pulls *p, uint64_t ticket)
{
    for (int i = 0; i < TICKETS_MAX && ticket != 0; i++)
        if (p->entries[i].ticket == ticket)
            return &p->entries[i];
    return NULL;
}

/* Returns NULL when all are in use. */
static struct entry *add(struct bulk_pulls *p, uint64_t ticket, int64_t n_bytes, int64_t now_ns)
{
    struct entry *entry = NULL;
    for (int i = 0; i < TICKETS_MAX && entry == NULL; i++)
        if (p->entries[i].ticket == 0 || p->entries[i].used_ns + FORGET_NS < now_ns)
            entry = &p->entries[i];
    if (entry == NULL)
        return NULL;
    forget(p, entry);
    entry->ticket = ticket;
    entry->n_bytes = n_bytes;
    entry->end = -1;
    entry->n_ahead = (int32_t)min_i64(max_i64(AHEAD_BYTES / n_bytes, 1), SLOTS);
    return entry;
}

/* Wants block k, unless it is on its way or there. Returns whether the door has news. */
static bool want(struct bulk_pulls *p, struct entry *entry, int32_t k)
{
    struct slot *slot = &entry->slots[k % entry->n_ahead];
    if (slot->state != SLOT_EMPTY && slot->index == k)
        return slot->state == SLOT_WANTED;
    empty(p, entry, slot);
    if (p->n_bytes + entry->n_bytes > BYTES_MAX)
        return false;
    *slot = (struct slot){ .state = SLOT_WANTED, .index = k };
    p->n_bytes += entry->n_bytes;
    return true;
}

/* ---- The engines' side. ---- */

static enum exchange_said pull(void *self, uint64_t ticket, int32_t i, struct exchange_stamp *stamp,
                               void *to, int64_t n_bytes)
{
    struct bulk_pulls *p = self;
    enum exchange_said said = EXCHANGE_LATER;
    int64_t now_ns = time_now_ns();
    bool has_news = false;
    lock_take(p->lock);
    struct entry *entry = find(p, ticket);
    if (entry == NULL && ticket != 0 && i >= 0 && n_bytes > 0)
        entry = add(p, ticket, n_bytes, now_ns);
    if (entry == NULL || entry->n_bytes != n_bytes || i < 0) {
        lock_put(p->lock);
        return EXCHANGE_GONE;
    }
    entry->used_ns = now_ns;
    for (int32_t k = i; k - i < entry->n_ahead && k < INT32_MAX; k++)
        if (entry->end < 0 || k < entry->end || k == i)
            has_news |= want(p, entry, k);
    struct slot *slot = &entry->slots[i % entry->n_ahead];
    if (slot->state == SLOT_HERE) {
        *stamp = slot->stamp;
        memcpy(to, slot->bytes, (size_t)n_bytes);
        empty(p, entry, slot);
        said = EXCHANGE_BLOCK;
    } else if (slot->state == SLOT_GONE) {
        said = EXCHANGE_GONE;
    }
    lock_put(p->lock);
    if (has_news)
        wake_up(&p->wake);
    return said;
}

/* An acknowledgement that finds no room is left to the source's own time. */
static void acknowledge(void *self, uint64_t ticket)
{
    struct bulk_pulls *p = self;
    lock_take(p->lock);
    struct entry *entry = find(p, ticket);
    if (entry != NULL)
        forget(p, entry);
    if (ticket != 0 && p->n_acks < ACKS_MAX)
        p->acks[p->n_acks++] = ticket;
    lock_put(p->lock);
    wake_up(&p->wake);
}

struct exchange_remote bulk_pulls_remote(struct bulk_pulls *p)
{
    return (struct exchange_remote){ p, pull, acknowledge };
}

/* ---- The door's side. ---- */

int bulk_pulls_wake_fd(const struct bulk_pulls *p)
{
    return p->wake.fd;
}

/* Serials name the entry and the slot, so that an answer finds them. */
static bool next_slot(struct bulk_pulls *p, struct bulk_pulls_wish *wish, int64_t now_ns)
{
    for (int e = 0; e < TICKETS_MAX; e++) {
        struct entry *entry = &p->entries[e];
        for (int i = 0; i < SLOTS && entry->ticket != 0; i++) {
            struct slot *slot = &entry->slots[i];
            if (slot->state != SLOT_WANTED || slot->again_ns > now_ns)
                continue;
            slot->state = SLOT_ASKED;
            slot->serial = ++p->n_serials * (TICKETS_MAX * SLOTS) + (uint64_t)(e * SLOTS + i);
            *wish = (struct bulk_pulls_wish){ entry->ticket, slot->serial, slot->index,
                                              entry->n_bytes };
            return true;
        }
    }
    return false;
}

bool bulk_pulls_next(struct bulk_pulls *p, struct bulk_pulls_wish *wish)
{
    int64_t now_ns = time_now_ns();
    lock_take(p->lock);
    wake_clear(&p->wake);
    bool is_there = p->n_acks > 0;
    if (is_there)
        *wish = (struct bulk_pulls_wish){ .ticket = p->acks[--p->n_acks] };
    else
        is_there = next_slot(p, wish, now_ns);
    lock_put(p->lock);
    return is_there;
}

/* Takes a block into the slot. Returns false when there is no memory. */
static bool take(const struct entry *entry, struct slot *slot, struct evbuffer *from)
{
    size_t n = (size_t)entry->n_bytes;
    slot->bytes = mem_try(n);
    return slot->bytes != NULL &&
           evbuffer_remove(from, &slot->stamp, sizeof slot->stamp) == (int)sizeof slot->stamp &&
           evbuffer_remove(from, slot->bytes, n) == (int)n;
}

void bulk_pulls_answer(struct bulk_pulls *p, uint64_t serial, enum exchange_said said,
                       struct evbuffer *from)
{
    lock_take(p->lock);
    struct entry *entry = &p->entries[serial % (TICKETS_MAX * SLOTS) / SLOTS];
    struct slot *slot = &entry->slots[serial % SLOTS];
    bool is_wanted = entry->ticket != 0 && slot->state == SLOT_ASKED && slot->serial == serial;
    if (is_wanted && said == EXCHANGE_BLOCK && take(entry, slot, from)) {
        slot->state = SLOT_HERE;
    } else if (is_wanted && said == EXCHANGE_LATER) {
        slot->state = SLOT_WANTED;
        slot->again_ns = time_now_ns() + AGAIN_NS;
    } else if (is_wanted) {
        int32_t index = slot->index;
        empty(p, entry, slot);
        slot->state = SLOT_GONE;
        slot->index = index;
        entry->end = entry->end < 0 ? index : min_i32(entry->end, index);
    }
    lock_put(p->lock);
}
