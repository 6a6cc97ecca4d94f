/* The election's keys as the watch and lists of a store show them. */
#pragma once
#include "store/id.h"
#include "store/store.h"

struct store_shown_keys {
    char leader[STORE_KEY_BYTES], epoch[STORE_KEY_BYTES], nonce[STORE_KEY_BYTES];
};
/* Names the keys under a prefix of at most STORE_KEY_BYTES - 16 bytes. */
void store_shown_name(struct store_shown_keys *keys, const char *prefix);

struct store_shown {
    bool is_listed, is_live;
    bool has_leader, has_epoch, has_nonce;
    bool is_broken;                /* the epoch or the nonce has a value that no manager writes */
    struct store_id leader, nonce; /* leader: all zero when its value is not understood */
    int64_t leader_created, epoch_changed;
    uint64_t leader_epoch, epoch;
};
/* Replaces all that was known. */
void store_shown_list(struct store_shown *shown, const struct store_shown_keys *keys,
                      const struct store_entry *entries, int n);
/* Other keys change nothing. */
void store_shown_put(struct store_shown *shown, const struct store_shown_keys *keys,
                     const struct store_entry *entry);
void store_shown_delete(struct store_shown *shown, const struct store_shown_keys *keys,
                        const char *key);
