/* Reading the election's keys. Values come from a store that anyone may have written to. */
#include "store/shown.h"

#include <stdio.h>
#include <string.h>

void store_shown_name(struct store_shown_keys *keys, const char *prefix)
{
    CHECK(strlen(prefix) <= STORE_KEY_BYTES - 16);
    snprintf(keys->leader, sizeof(keys->leader), "%.240sleader", prefix);
    snprintf(keys->epoch, sizeof(keys->epoch), "%.240sepoch", prefix);
    snprintf(keys->nonce, sizeof(keys->nonce), "%.240snonce", prefix);
}

static bool read_u64(struct view value, uint64_t *out)
{
    char text[24];
    int64_t n;
    if (value.n == 0 || value.n >= sizeof(text))
        return false;
    memcpy(text, value.at, value.n);
    text[value.n] = '\0';
    if (!parse_i64(text, &n) || n < 0)
        return false;
    *out = (uint64_t)n;
    return true;
}

/* "ID EPOCH NAME". */
static bool read_leader(struct store_shown *shown, struct view value)
{
    const char *space = value.n > STORE_ID_TEXT
                            ? memchr(value.at + STORE_ID_TEXT, ' ', value.n - STORE_ID_TEXT)
                            : NULL;
    if (space == NULL || value.at[STORE_ID_TEXT - 1] != ' ')
        return false;
    struct view epoch =
        view_of(value.at + STORE_ID_TEXT, (size_t)(space - value.at) - STORE_ID_TEXT);
    return store_id_read(value.at, STORE_ID_TEXT - 1, &shown->leader) &&
           read_u64(epoch, &shown->leader_epoch);
}

void store_shown_put(struct store_shown *shown, const struct store_shown_keys *keys,
                     const struct store_entry *entry)
{
    if (strcmp(entry->key, keys->leader) == 0) {
        shown->has_leader = true;
        shown->leader_created = entry->created;
        if (!read_leader(shown, entry->value)) /* still a leader, of an unknown kind */
            shown->leader = (struct store_id){ 0 };
    } else if (strcmp(entry->key, keys->epoch) == 0) {
        shown->has_epoch = true;
        shown->epoch_changed = entry->changed;
        shown->is_broken |= !read_u64(entry->value, &shown->epoch);
    } else if (strcmp(entry->key, keys->nonce) == 0) {
        shown->has_nonce = store_id_read(entry->value.at, entry->value.n, &shown->nonce);
        shown->is_broken |= !shown->has_nonce;
    }
}

void store_shown_delete(struct store_shown *shown, const struct store_shown_keys *keys,
                        const char *key)
{
    if (strcmp(key, keys->leader) == 0)
        shown->has_leader = false;
    else if (strcmp(key, keys->epoch) == 0)
        shown->has_epoch = false;
    else if (strcmp(key, keys->nonce) == 0)
        shown->has_nonce = false;
}

void store_shown_list(struct store_shown *shown, const struct store_shown_keys *keys,
                      const struct store_entry *entries, int n)
{
    *shown = (struct store_shown){ .is_listed = true, .is_live = true };
    for (int i = 0; i < n; i++)
        store_shown_put(shown, keys, &entries[i]);
}
