/* Keeps the names of blocks on disk in a map and a list from the oldest to the newest. */
#include "kv/disk_index.h"

#include "base/mem.h"

#define NONE MAP_NONE

void kv_disk_index_open(struct kv_disk_index *index, uint32_t n_max)
{
    *index = (struct kv_disk_index){
        .n_max = n_max, .first_free = NONE, .oldest = NONE, .newest = NONE
    };
    index->entries = mem_take(n_max * sizeof *index->entries);
    map_init(&index->map, n_max);
}

void kv_disk_index_close(struct kv_disk_index *index)
{
    map_free(&index->map);
    mem_give(index->entries);
}

static uint32_t find(const struct kv_disk_index *index, struct hash128 name)
{
    uint32_t at = map_find(&index->map, name.low);
    return at != NONE && index->entries[at].name.high == name.high ? at : NONE;
}

bool kv_disk_index_has(const struct kv_disk_index *index, struct hash128 name)
{
    return find(index, name) != NONE;
}

static void link_newest(struct kv_disk_index *index, uint32_t at)
{
    struct kv_disk_entry *entry = &index->entries[at];
    entry->older = index->newest;
    entry->newer = NONE;
    if (index->newest != NONE)
        index->entries[index->newest].newer = at;
    else
        index->oldest = at;
    index->newest = at;
}

static void unlink_entry(struct kv_disk_index *index, uint32_t at)
{
    const struct kv_disk_entry *entry = &index->entries[at];
    if (entry->older != NONE)
        index->entries[entry->older].newer = entry->newer;
    else
        index->oldest = entry->newer;
    if (entry->newer != NONE)
        index->entries[entry->newer].older = entry->older;
    else
        index->newest = entry->older;
}

bool kv_disk_index_add(struct kv_disk_index *index, struct hash128 name, int64_t n_bytes)
{
    if (index->n == index->n_max || map_find(&index->map, name.low) != NONE)
        return false;
    uint32_t at = index->first_free;
    if (at != NONE)
        index->first_free = index->entries[at].newer;
    else
        at = index->n_used++;
    CHECK(map_put(&index->map, name.low, at));
    index->entries[at] = (struct kv_disk_entry){ .name = name, .n_bytes = n_bytes };
    link_newest(index, at);
    index->n++;
    index->n_bytes += n_bytes;
    return true;
}

void kv_disk_index_remove(struct kv_disk_index *index, struct hash128 name)
{
    uint32_t at = find(index, name);
    if (at == NONE)
        return;
    unlink_entry(index, at);
    index->n--;
    index->n_bytes -= index->entries[at].n_bytes;
    index->entries[at].newer = index->first_free;
    index->first_free = at;
    CHECK(map_remove(&index->map, name.low));
}

void kv_disk_index_touch(struct kv_disk_index *index, struct hash128 name)
{
    uint32_t at = find(index, name);
    if (at == NONE || at == index->newest)
        return;
    unlink_entry(index, at);
    link_newest(index, at);
}

bool kv_disk_index_oldest(const struct kv_disk_index *index, struct hash128 *name)
{
    if (index->oldest == NONE)
        return false;
    *name = index->entries[index->oldest].name;
    return true;
}
