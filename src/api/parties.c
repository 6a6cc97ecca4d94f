/* The table of parties. An entry is freed when it has no user and holds no memory. */
#include "api/parties.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/slots.h"

struct entry {
    struct api_party party; /* first */
    uint32_t slot;          /* 0: free */
};
struct api_parties {
    struct mem_account *root;
    uint64_t seed;
    uint32_t n_max;
    struct map by_key;
    struct slots slots;
    struct entry *entries;
    struct api_party others; /* shared by all parties for which the table has no place */
};

struct api_parties *api_parties_open(uint32_t n_max, struct mem_account *root)
{
    struct api_parties *parties = mem_take(sizeof(*parties));
    parties->root = root;
    parties->seed = rng_system();
    parties->n_max = n_max;
    map_init(&parties->by_key, n_max);
    slots_init(&parties->slots, n_max);
    parties->entries = mem_take(sizeof(*parties->entries) * n_max);
    parties->others.account.parent = root;
    return parties;
}

void api_parties_close(struct api_parties *parties)
{
    map_free(&parties->by_key);
    slots_free(&parties->slots);
    mem_give(parties->entries);
    mem_give(parties);
}

static void free_unused(struct api_parties *parties, struct entry *entry)
{
    struct api_party *party = &entry->party;
    if (entry->slot == 0 || party->n_users > 0 || mem_account_bytes(&party->account) > 0)
        return;
    map_remove(&parties->by_key, party->key);
    slots_put(&parties->slots, entry->slot);
    entry->slot = 0;
}

static struct api_party *take_party(struct api_parties *parties, uint64_t key)
{
    uint32_t index = map_find(&parties->by_key, key);
    if (index == MAP_NONE && parties->slots.n_free == 0)
        for (uint32_t i = 0; i < parties->n_max; i++)
            free_unused(parties, &parties->entries[i]);
    uint32_t slot = index == MAP_NONE ? slots_take(&parties->slots) : 0;
    if (slot != 0) {
        index = slots_index(slot);
        parties->entries[index] =
            (struct entry){ .party = { .account = { .parent = parties->root }, .key = key },
                            .slot = slot };
        CHECK(map_put(&parties->by_key, key, index));
    }
    struct api_party *party = index != MAP_NONE ? &parties->entries[index].party : &parties->others;
    party->n_users++;
    return party;
}

struct api_party *api_parties_take_address(struct api_parties *parties,
                                           const struct api_address *address)
{
    return take_party(parties, hash_fast(address, sizeof(*address), parties->seed).low);
}

struct api_party *api_parties_take_tenant(struct api_parties *parties, uint16_t tenant)
{
    return take_party(parties, hash_fast(&tenant, sizeof(tenant), ~parties->seed).low);
}

void api_parties_use(struct api_party *party)
{
    party->n_users++;
}

void api_parties_put(struct api_parties *parties, struct api_party *party)
{
    party->n_users--;
    if (party != &parties->others)
        free_unused(parties, (struct entry *)(void *)party);
}

static int64_t large_max(const struct api_parties *parties)
{
    const struct mem_account *root = parties->root;
    return root != NULL ? root->n_bytes_max - root->n_bytes_max / 8 : 0;
}

int64_t api_parties_room(const struct api_parties *parties, const struct api_party *party)
{
    if (large_max(parties) == 0)
        return INT64_MAX;
    return fair_room(mem_account_bytes(&party->account), mem_account_bytes(parties->root),
                     large_max(parties));
}

int64_t api_parties_room_alone(const struct api_parties *parties, int64_t n_own)
{
    return large_max(parties) == 0 ? INT64_MAX : fair_room(n_own, n_own, large_max(parties));
}

bool api_parties_is_full(const struct api_parties *parties)
{
    const struct mem_account *root = parties->root;
    return root != NULL && root->n_bytes_max > 0 && mem_account_bytes(root) >= root->n_bytes_max;
}
