/* Hashes keys of blocks on disk. */
#include "kv/disk_key.h"

struct hash128 kv_disk_key_root(const struct kv_disk_key *key)
{
    _Static_assert(sizeof *key == 72, "no byte of it is padding");
    return hash_secure("shoal kv", 8, key, sizeof *key);
}
