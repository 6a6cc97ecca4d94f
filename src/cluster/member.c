/* Keeps a process's entry in the store. */
#include "cluster/member.h"

#include "base/rng.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

static const int64_t AGAIN_NS = 500 * TIME_NS_PER_MS;

void cluster_member_open(struct cluster_member *member, struct store *store, const char *key,
                         const char *value, int64_t ttl_s, uint64_t seed)
{
    *member = (struct cluster_member){ .store = store, .ttl_s = ttl_s, .seed = seed };
    CHECK(strlen(key) < sizeof member->key && strlen(value) < sizeof member->value);
    snprintf(member->key, sizeof member->key, "%s", key);
    snprintf(member->value, sizeof member->value, "%s", value);
}

void cluster_member_set(struct cluster_member *member, const char *value)
{
    CHECK(strlen(value) < sizeof member->value);
    const char *last = member->has_changed ? member->next_value : member->value;
    if (strcmp(last, value) == 0)
        return;
    snprintf(member->next_value, sizeof member->next_value, "%s", value);
    member->has_changed = true; /* not `value`: a call in flight may point to it */
    if (member->state == CLUSTER_MEMBER_THERE)
        member->again_ns = 0;
}

void cluster_member_close(struct cluster_member *member)
{
    if (member->is_calling)
        member->store->forget(member->store->self, &member->call);
    member->is_calling = false;
}

static void begin_anew(struct cluster_member *member)
{
    member->state = CLUSTER_MEMBER_NONE;
    member->again_ns = 0;
}

static void take_call(struct cluster_member *member, int64_t now_ns)
{
    const struct store_call *call = &member->call;
    bool is_done = call->end == STORE_DONE;
    member->is_calling = false;
    member->again_ns = now_ns + AGAIN_NS;
    switch (call->kind) {
    case STORE_GRANT: /* one that may have been granted ends by itself */
        if (is_done) {
            member->state = CLUSTER_MEMBER_LEASED;
            member->again_ns = now_ns;
        }
        break;
    case STORE_CHANGE:
        if (is_done && member->state == CLUSTER_MEMBER_LEASED) {
            member->state = CLUSTER_MEMBER_THERE;
            member->again_ns = now_ns + member->ttl_s * TIME_NS_PER_S / 3;
        } else if (is_done) {
            member->again_ns = now_ns; /* another value of the same lease, which is kept next */
        } else if (call->end == STORE_REFUSED) {
            member->state = CLUSTER_MEMBER_NONE; /* the lease is gone */
        } else if (member->state == CLUSTER_MEMBER_THERE && !member->has_changed) {
            (void)memcpy(member->next_value, member->value, sizeof member->next_value);
            member->has_changed = true;
        }
        break;
    default:
        if (is_done && !call->has_lease)
            begin_anew(member);
        else if (is_done)
            member->again_ns = now_ns + member->ttl_s * TIME_NS_PER_S / 3;
        break;
    }
}

/* The entry has left the list: a lease that ended, an operator, or another store. */
static void check_list(struct cluster_member *member, const struct store_news *news)
{
    bool is_there = false;
    for (int i = 0; i < news->n_entries; i++)
        is_there = is_there || strcmp(news->entries[i].key, member->key) == 0;
    if (!is_there && member->state == CLUSTER_MEMBER_THERE)
        begin_anew(member);
}

bool cluster_member_take(struct cluster_member *member, const struct store_news *news,
                         int64_t now_ns)
{
    switch (news->kind) {
    case STORE_NEWS_CALL:
        if (news->call != &member->call)
            return false;
        take_call(member, now_ns);
        return true;
    case STORE_NEWS_LISTED:
        check_list(member, news);
        return false;
    case STORE_NEWS_DELETED:
        if (strcmp(news->entries[0].key, member->key) == 0 && member->state == CLUSTER_MEMBER_THERE)
            begin_anew(member);
        return false;
    case STORE_NEWS_BACK:
        begin_anew(member);
        return false;
    default:
        return false;
    }
}

static void next_call(struct cluster_member *member)
{
    struct store_call *call = &member->call;
    *call = (struct store_call){ .timeout_ns = member->ttl_s * TIME_NS_PER_S / 4 };
    if (member->state == CLUSTER_MEMBER_NONE) {
        member->lease = (int64_t)(rng_at(member->seed, 2, member->n_leases++) >> 1) | 1;
        call->kind = STORE_GRANT;
        call->ttl_s = member->ttl_s;
    } else if (member->state == CLUSTER_MEMBER_LEASED || member->has_changed) {
        if (member->has_changed)
            (void)memcpy(member->value, member->next_value, sizeof member->value);
        member->has_changed = false;
        call->kind = STORE_CHANGE;
        call->n_changes = 1;
        call->changes[0] = (struct store_change){ .key = member->key,
                                                  .value = view_text(member->value),
                                                  .lease = member->lease };
    } else {
        call->kind = STORE_KEEP;
    }
    call->lease = member->lease;
    member->is_calling = true;
    member->store->begin(member->store->self, call);
}

int64_t cluster_member_step(struct cluster_member *member, int64_t now_ns)
{
    if (!member->is_calling && member->again_ns <= now_ns)
        next_call(member);
    return member->is_calling ? TIME_NEVER : member->again_ns;
}
