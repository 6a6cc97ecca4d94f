/* The exchange's table of offers, under one lock. A pull copies one block under it. */
#include "engine/exchange.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/team.h"
#include <string.h>

struct entry {
    uint64_t ticket; /* 0: unused */
    struct exchange_offer offer;
    struct kv_host_view at; /* where block n_pulled lies */
    int32_t n_pulled;
    bool is_taken;
};
struct exchange {
    struct exchange_options options;
    struct lock *lock;
    struct entry *entries; /* (n_offers_max) */
    uint64_t n_sessions, n_offers;
};

struct exchange *exchange_open(const struct exchange_options *options)
{
    struct exchange *x = mem_take(sizeof *x);
    x->options = *options;
    x->entries = mem_take(options->n_offers_max * sizeof *x->entries);
    x->lock = lock_open();
    return x;
}

void exchange_close(struct exchange *x)
{
    if (x == NULL)
        return;
    for (uint32_t i = 0; i < x->options.n_offers_max; i++)
        CHECK(x->entries[i].ticket == 0);
    lock_close(x->lock);
    mem_give(x->entries);
    mem_give(x);
}

uint64_t exchange_begin(struct exchange *x)
{
    lock_take(x->lock);
    uint64_t session = rng_at(x->options.seed, 0, x->n_sessions++) | 1;
    lock_put(x->lock);
    return session;
}

uint64_t exchange_ticket(const struct exchange_stamp *stamp)
{
    const uint64_t parts[] = { stamp->session, stamp->serial, stamp->id, stamp->epoch };
    return hash_fast(parts, sizeof parts, 0).low | 1;
}

/* Returns NULL when there is no such offer. Needs the lock. */
static struct entry *find(struct exchange *x, uint64_t ticket)
{
    for (uint32_t i = 0; i < x->options.n_offers_max && ticket != 0; i++)
        if (x->entries[i].ticket == ticket)
            return &x->entries[i];
    return NULL;
}

uint64_t exchange_offer(struct exchange *x, const struct exchange_offer *offer)
{
    uint64_t ticket = 0;
    lock_take(x->lock);
    struct entry *entry = x->entries;
    struct entry *end = entry + x->options.n_offers_max;
    while (entry < end && entry->ticket != 0)
        entry++;
    if (entry < end) {
        *entry = (struct entry){ .offer = *offer, .at = offer->view };
        entry->offer.stamp.serial = rng_at(x->options.seed, 1, x->n_offers++);
        entry->ticket = ticket = exchange_ticket(&entry->offer.stamp);
    }
    lock_put(x->lock);
    return ticket;
}

bool exchange_is_taken(struct exchange *x, uint64_t ticket)
{
    lock_take(x->lock);
    const struct entry *entry = find(x, ticket);
    bool is_taken = entry == NULL || entry->is_taken;
    lock_put(x->lock);
    return is_taken;
}

void exchange_withdraw(struct exchange *x, uint64_t ticket)
{
    lock_take(x->lock);
    struct entry *entry = find(x, ticket);
    if (entry != NULL)
        entry->ticket = 0;
    lock_put(x->lock);
}

/* Copies block i, which the offer has. */
static void copy(struct entry *entry, int32_t i, struct exchange_stamp *stamp, void *to)
{
    const struct exchange_offer *offer = &entry->offer;
    if (i < entry->n_pulled) { /* again from the start */
        entry->at = offer->view;
        entry->n_pulled = 0;
    }
    int64_t at = -1;
    while (entry->n_pulled <= i) {
        at = kv_host_view_next(&entry->at);
        entry->n_pulled++;
    }
    const unsigned char *from = offer->base + at;
    size_t n_bytes = (size_t)offer->stamp.block_bytes;
    *stamp = offer->stamp;
    stamp->position = i * stamp->block_tokens;
    stamp->n_tokens = min_i32(offer->n_positions - stamp->position, stamp->block_tokens);
    stamp->tokens = offer->tokens[i];
    stamp->checksum = hash_fast(from, n_bytes, 0);
    memcpy(to, from, n_bytes);
}

static bool has_block(const struct entry *entry, int32_t i, int64_t n_bytes)
{
    return entry != NULL && !entry->is_taken && i >= 0 && i < entry->offer.view.n_blocks &&
           n_bytes == entry->offer.stamp.block_bytes;
}

bool exchange_has_here(struct exchange *x, uint64_t ticket, int32_t i, int64_t n_bytes)
{
    lock_take(x->lock);
    bool is_here = has_block(find(x, ticket), i, n_bytes);
    lock_put(x->lock);
    return is_here;
}

/* stamp->block_bytes says how large the caller's blocks are. *is_here: the exchange has the offer.
 */
static enum exchange_said pull_here(struct exchange *x, uint64_t ticket, int32_t i,
                                    struct exchange_stamp *stamp, void *to, bool *is_here)
{
    enum exchange_said said = EXCHANGE_GONE;
    lock_take(x->lock);
    struct entry *entry = find(x, ticket);
    *is_here = entry != NULL;
    if (has_block(entry, i, stamp->block_bytes)) {
        copy(entry, i, stamp, to);
        said = EXCHANGE_BLOCK;
    }
    lock_put(x->lock);
    return said;
}

enum exchange_said exchange_pull_here(struct exchange *x, uint64_t ticket, int32_t i,
                                      struct exchange_stamp *stamp, void *to, int64_t n_bytes)
{
    bool is_here;
    stamp->block_bytes = n_bytes;
    return pull_here(x, ticket, i, stamp, to, &is_here);
}

enum exchange_said exchange_pull(struct exchange *x, uint64_t ticket, int32_t i,
                                 struct exchange_stamp *stamp, void *to, int64_t n_bytes)
{
    const struct exchange_remote *remote = &x->options.remote;
    bool is_here;
    stamp->block_bytes = n_bytes;
    enum exchange_said said = pull_here(x, ticket, i, stamp, to, &is_here);
    if (!is_here && remote->pull != NULL)
        said = remote->pull(remote->self, ticket, i, stamp, to, n_bytes);
    if (said == EXCHANGE_BLOCK && x->options.pass != NULL)
        said = x->options.pass(x->options.pass_self, stamp, to, n_bytes);
    return said;
}

bool exchange_acknowledge_here(struct exchange *x, uint64_t ticket)
{
    lock_take(x->lock);
    struct entry *entry = find(x, ticket);
    if (entry != NULL) {
        entry->is_taken = true;
        if (entry->offer.wake != NULL)
            entry->offer.wake(entry->offer.wake_self);
    }
    lock_put(x->lock);
    return entry != NULL;
}

void exchange_acknowledge(struct exchange *x, uint64_t ticket)
{
    const struct exchange_remote *remote = &x->options.remote;
    if (!exchange_acknowledge_here(x, ticket) && remote->pull != NULL)
        remote->acknowledge(remote->self, ticket);
}
