/* One candidate of the election: see leader.h. */
#include "store/leader.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "store/shown.h"
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, VALUE_BYTES = STORE_ID_TEXT + 24 + NAME_BYTES };

/* The purpose of the call in flight. */
enum purpose { PURPOSE_NONE, NAME_LIFE, TAKE_LEASE, CAMPAIGN, LOOK, REVOKE, REMOVE };

struct store_leader {
    struct store *store;
    struct store_shown_keys keys;
    char prefix[STORE_KEY_BYTES], name[NAME_BYTES];
    char value[VALUE_BYTES], epoch_value[24]; /* of the campaign in flight */
    char nonce_value[STORE_ID_TEXT], known_value[STORE_ID_TEXT];
    struct store_id id, nonce, offered;
    struct rng rng;
    int64_t ttl_ns, ttl_s, timeout_ns;
    enum store_leader_state state;
    struct store_shown shown;
    int64_t shown_revision; /* of the last news of the watch */
    uint64_t epoch, epoch_seen; /* its own (now or last), and the highest it knows of */
    int64_t lease;              /* 0: none */
    int64_t sent_ns, deadline_ns, created;
    int64_t retry_ns, keep_ns; /* nothing new before; the next renewal */
    enum purpose purpose;
    bool is_keeping;
    int64_t keep_sent_ns;
    struct store_call call, keep;
};

/* ---- Calls. ---- */

static int64_t random_lease(struct store_leader *l)
{
    int64_t id = 0;
    while (id == 0)
        id = (int64_t)(rng_u64(&l->rng) >> 1);
    return id;
}

static struct store_call *prepare(struct store_leader *l, enum purpose purpose,
                                  enum store_call_kind kind)
{
    CHECK(l->purpose == PURPOSE_NONE);
    l->purpose = purpose;
    l->call = (struct store_call){ .kind = kind, .timeout_ns = l->timeout_ns };
    return &l->call;
}

static void begin(struct store_leader *l)
{
    l->store->begin(l->store->self, &l->call);
}

/* Waits for a quarter to three quarters of a call's timeout, so that candidates come apart. */
static void pause_for_a_while(struct store_leader *l, int64_t now_ns)
{
    l->retry_ns =
        now_ns + l->timeout_ns / 4 + (int64_t)rng_below(&l->rng, 1000) * l->timeout_ns / 2000;
}

/* The cluster has no life yet: this candidate offers one. */
static void name_life(struct store_leader *l)
{
    struct store_call *call = prepare(l, NAME_LIFE, STORE_CHANGE);
    l->offered = (struct store_id){ rng_u64(&l->rng), rng_u64(&l->rng) };
    store_id_write(l->offered, l->nonce_value);
    call->n_conditions = call->n_changes = 1;
    call->conditions[0] = (struct store_condition){ STORE_CREATED_AT, l->keys.nonce, 0, { 0 } };
    call->changes[0] = (struct store_change){ l->keys.nonce, view_text(l->nonce_value), 0, false };
    begin(l);
}

static void take_lease(struct store_leader *l, int64_t now_ns)
{
    struct store_call *call = prepare(l, TAKE_LEASE, STORE_GRANT);
    l->state = STORE_STANDING;
    l->lease = random_lease(l);
    l->sent_ns = now_ns;
    call->lease = l->lease;
    call->ttl_s = l->ttl_s;
    begin(l);
}

static void campaign(struct store_leader *l)
{
    struct store_call *call = prepare(l, CAMPAIGN, STORE_CHANGE);
    const struct store_shown *shown = &l->shown;
    char id[STORE_ID_TEXT];
    if (shown->has_epoch && shown->epoch > l->epoch_seen)
        l->epoch_seen = shown->epoch;
    l->epoch = ++l->epoch_seen;
    store_id_write(l->id, id);
    store_id_write(l->nonce, l->known_value);
    snprintf(l->value, sizeof(l->value), "%s %llu %s", id, (unsigned long long)l->epoch, l->name);
    snprintf(l->epoch_value, sizeof(l->epoch_value), "%llu", (unsigned long long)l->epoch);
    call->n_conditions = 3;
    call->conditions[0] = (struct store_condition){ STORE_CREATED_AT, l->keys.leader, 0, { 0 } };
    call->conditions[1] = (struct store_condition){
        STORE_CHANGED_AT, l->keys.epoch, shown->has_epoch ? shown->epoch_changed : 0, { 0 }
    };
    call->conditions[2] =
        (struct store_condition){ STORE_EQUALS, l->keys.nonce, 0, view_text(l->known_value) };
    call->n_changes = 2;
    call->changes[0] =
        (struct store_change){ l->keys.leader, view_text(l->value), l->lease, false };
    call->changes[1] = (struct store_change){ l->keys.epoch, view_text(l->epoch_value), 0, false };
    begin(l);
}

/* The campaign's outcome is unknown, or the conditions did not hold, so that what the watch showed
 * is old: only a list can tell. */
static void look(struct store_leader *l)
{
    prepare(l, LOOK, STORE_LIST)->prefix = l->prefix;
    begin(l);
}

static void revoke(struct store_leader *l)
{
    prepare(l, REVOKE, STORE_REVOKE)->lease = l->lease;
    begin(l);
}

/* Its own key, which a store that restarted shows under a lease that lives again. */
static void remove_stale(struct store_leader *l)
{
    struct store_call *call = prepare(l, REMOVE, STORE_CHANGE);
    call->n_conditions = call->n_changes = 1;
    call->conditions[0] = (struct store_condition){
        STORE_CREATED_AT, l->keys.leader, l->shown.leader_created, { 0 }
    };
    call->changes[0] = (struct store_change){ .key = l->keys.leader, .is_delete = true };
    begin(l);
}

/* ---- Changes of state. ---- */

static void forget_keep(struct store_leader *l)
{
    if (l->is_keeping)
        l->store->forget(l->store->self, &l->keep);
    l->is_keeping = false;
}

static void resign(struct store_leader *l, const char *why)
{
    if (l->state == STORE_LEADING)
        log_line(LOG_WARN, "manager", "%s leads no longer (epoch %llu): %s", l->name,
                 (unsigned long long)l->epoch, why);
    forget_keep(l);
    l->state = STORE_RESIGNING;
    l->retry_ns = 0;
}

static void lead(struct store_leader *l, int64_t created, int64_t now_ns)
{
    l->created = created;
    if (now_ns >= l->deadline_ns) {
        resign(l, "the lease had ended before it was elected");
        return;
    }
    l->state = STORE_LEADING;
    l->keep_ns = l->sent_ns + l->ttl_ns / 3;
    log_line(LOG_INFO, "manager", "%s leads, epoch %llu", l->name, (unsigned long long)l->epoch);
}

/* Margin for clocks that run at other rates, and for an act that takes a moment. */
static int64_t deadline_of(int64_t sent_ns, int64_t ttl_s)
{
    return sent_ns + ttl_s * TIME_NS_PER_S -
           max_i64(200 * TIME_NS_PER_MS, ttl_s * TIME_NS_PER_S / 20);
}

static void after_grant(struct store_leader *l, int64_t now_ns)
{
    if (l->call.end != STORE_DONE) {
        resign(l, "no lease");
        pause_for_a_while(l, now_ns);
        return;
    }
    l->deadline_ns = deadline_of(l->sent_ns, l->call.ttl_s);
    if (l->shown.has_leader || l->state != STORE_STANDING || now_ns >= l->deadline_ns)
        resign(l, "another leads");
    else
        campaign(l);
}

static void after_campaign(struct store_leader *l, int64_t now_ns)
{
    if (l->state != STORE_STANDING) /* it resigned meanwhile */
        return;
    if (l->call.end == STORE_DONE && l->call.is_made) {
        lead(l, l->call.revision, now_ns);
    } else if (l->call.end == STORE_UNSURE || l->call.end == STORE_DONE) {
        look(l);
    } else {
        resign(l, "another was elected");
        pause_for_a_while(l, now_ns);
    }
}

static void after_look(struct store_leader *l, int64_t now_ns)
{
    if (l->state != STORE_STANDING)
        return;
    if (l->call.end != STORE_DONE) {
        if (now_ns < l->deadline_ns) {
            pause_for_a_while(l, now_ns);
            return; /* and looks again */
        }
        resign(l, "no word of the election");
        return;
    }
    /* The watch may have told later changes already, and tells none of them twice. */
    if (!l->shown.is_listed || l->call.revision >= l->shown_revision)
        store_shown_list(&l->shown, &l->keys, l->call.entries, l->call.n_entries);
    const struct store_shown *shown = &l->shown;
    if (shown->has_leader && store_id_equal(shown->leader, l->id) &&
        shown->leader_epoch == l->epoch && shown->has_nonce &&
        store_id_equal(shown->nonce, l->nonce)) {
        lead(l, shown->leader_created, now_ns);
        return;
    }
    resign(l, "another was elected");
    pause_for_a_while(l, now_ns);
}

static void after_revoke(struct store_leader *l, int64_t now_ns)
{
    if (l->call.end == STORE_DONE || l->call.end == STORE_REFUSED) {
        l->lease = 0;
        l->state = STORE_FOLLOWING;
    } else {
        pause_for_a_while(l, now_ns);
    }
}

static void after_keep(struct store_leader *l, int64_t now_ns)
{
    const struct store_call *keep = &l->keep;
    l->is_keeping = false;
    if (l->state != STORE_LEADING)
        return;
    if (now_ns >= l->deadline_ns) {
        resign(l, "its lease was not renewed in time");
    } else if (keep->end == STORE_DONE && !keep->has_lease) {
        resign(l, "its lease is gone");
    } else if (keep->end == STORE_DONE) {
        l->deadline_ns = max_i64(l->deadline_ns, deadline_of(l->keep_sent_ns, keep->ttl_s));
        l->keep_ns = l->keep_sent_ns + l->ttl_ns / 3;
    } else {
        l->keep_ns = now_ns + l->ttl_ns / 20;
    }
}

static void after_call(struct store_leader *l, int64_t now_ns)
{
    enum purpose purpose = l->purpose;
    l->purpose = PURPOSE_NONE;
    switch (purpose) {
    case TAKE_LEASE:
        after_grant(l, now_ns);
        break;
    case CAMPAIGN:
        after_campaign(l, now_ns);
        break;
    case LOOK:
        after_look(l, now_ns);
        break;
    case REVOKE:
        after_revoke(l, now_ns);
        break;
    case NAME_LIFE: /* the watch tells which nonce it became */
    case REMOVE:
        pause_for_a_while(l, now_ns);
        break;
    case PURPOSE_NONE:
        break;
    }
}

/* ---- News. ---- */

/* A leader whose key is another's, or gone, leads no longer. Changes from before its election are
 * still on their way. */
static void check_own_key(struct store_leader *l, int64_t revision)
{
    bool is_own = l->shown.has_leader && l->shown.leader_created == l->created;
    if (l->state == STORE_LEADING && !is_own && revision > l->created)
        resign(l, "its key is gone");
}

static void check_nonce(struct store_leader *l)
{
    if (l->state != STORE_LEADING && l->state != STORE_STANDING)
        return;
    if (!l->shown.has_nonce || !store_id_equal(l->shown.nonce, l->nonce))
        resign(l, "the store shows another life of the cluster");
}

bool store_leader_take(struct store_leader *l, const struct store_news *news, int64_t now_ns)
{
    switch (news->kind) {
    case STORE_NEWS_CALL:
        if (news->call == &l->keep)
            after_keep(l, now_ns);
        else if (news->call == &l->call)
            after_call(l, now_ns);
        else
            return false;
        return true;
    case STORE_NEWS_LISTED:
        store_shown_list(&l->shown, &l->keys, news->entries, news->n_entries);
        l->shown_revision = news->revision;
        check_own_key(l, news->revision);
        check_nonce(l);
        break;
    case STORE_NEWS_PUT:
        store_shown_put(&l->shown, &l->keys, &news->entries[0]);
        l->shown_revision = max_i64(l->shown_revision, news->revision);
        check_own_key(l, news->revision);
        check_nonce(l);
        break;
    case STORE_NEWS_DELETED:
        store_shown_delete(&l->shown, &l->keys, news->entries[0].key);
        l->shown_revision = max_i64(l->shown_revision, news->revision);
        check_own_key(l, news->revision);
        check_nonce(l);
        break;
    case STORE_NEWS_SILENT:
        l->shown.is_live = false;
        break;
    case STORE_NEWS_LIVE:
        l->shown.is_live = true;
        break;
    case STORE_NEWS_BACK:
        l->shown = (struct store_shown){ 0 };
        if (l->state == STORE_LEADING || l->state == STORE_STANDING)
            resign(l, "the store lost its history");
        break;
    }
    return false;
}

/* ---- What it does next. ---- */

static void follow(struct store_leader *l, int64_t now_ns)
{
    const struct store_shown *shown = &l->shown;
    if (!shown->is_listed || !shown->is_live || shown->is_broken)
        return;
    bool knows_life = !store_id_is_none(l->nonce);
    if (!shown->has_nonce && !knows_life) {
        name_life(l);
        return;
    }
    if (shown->has_nonce && !knows_life)
        l->nonce = shown->nonce;
    bool is_same = shown->has_nonce && store_id_equal(shown->nonce, l->nonce);
    if (!is_same && l->state != STORE_FOREIGN)
        log_line(LOG_WARN, "manager",
                 "%s: the store is not the one that this cluster began with; nothing is changed "
                 "until `shoal cluster adopt` is run",
                 l->name);
    l->state = is_same ? STORE_FOLLOWING : STORE_FOREIGN;
    if (!is_same)
        return;
    if (shown->has_leader && store_id_equal(shown->leader, l->id))
        remove_stale(l);
    else if (!shown->has_leader)
        take_lease(l, now_ns);
}

static void keep_on_leading(struct store_leader *l, int64_t now_ns)
{
    if (now_ns >= l->deadline_ns) {
        resign(l, "its lease was not renewed in time");
    } else if (!l->is_keeping && now_ns >= l->keep_ns) {
        l->keep = (struct store_call){ .kind = STORE_KEEP,
                                       .lease = l->lease,
                                       .timeout_ns = l->timeout_ns };
        l->is_keeping = true;
        l->keep_sent_ns = now_ns;
        l->store->begin(l->store->self, &l->keep);
    }
}

int64_t store_leader_step(struct store_leader *l, int64_t now_ns)
{
    if (l->state == STORE_LEADING)
        keep_on_leading(l, now_ns);
    if (l->purpose == PURPOSE_NONE && now_ns >= l->retry_ns) {
        if (l->state == STORE_RESIGNING && l->lease == 0)
            l->state = STORE_FOLLOWING;
        if (l->state == STORE_RESIGNING)
            revoke(l);
        else if (l->state == STORE_STANDING)
            look(l);
        else if (l->state != STORE_LEADING)
            follow(l, now_ns);
    }
    if (l->state == STORE_LEADING)
        return l->is_keeping ? l->deadline_ns : min_i64(l->keep_ns, l->deadline_ns);
    return l->purpose == PURPOSE_NONE ? max_i64(l->retry_ns, now_ns + l->timeout_ns / 8)
                                      : TIME_NEVER;
}

/* ---- Its face. ---- */

struct store_leader *store_leader_open(const struct store_leader_options *o)
{
    struct store_leader *l = mem_take(sizeof *l);
    CHECK(o->ttl_s >= 2 && strlen(o->prefix) + sizeof("leader") <= STORE_KEY_BYTES);
    l->store = o->store;
    snprintf(l->prefix, sizeof(l->prefix), "%s", o->prefix);
    store_shown_name(&l->keys, o->prefix);
    snprintf(l->name, sizeof(l->name), "%s", o->name);
    l->id = o->id;
    l->nonce = o->nonce;
    l->ttl_s = o->ttl_s;
    l->ttl_ns = o->ttl_s * TIME_NS_PER_S;
    l->timeout_ns = l->ttl_ns / 4;
    rng_init(&l->rng, o->seed, o->id.low);
    return l;
}

void store_leader_close(struct store_leader *l)
{
    forget_keep(l);
    if (l->purpose != PURPOSE_NONE)
        l->store->forget(l->store->self, &l->call);
    mem_give(l);
}

enum store_leader_state store_leader_state(const struct store_leader *l)
{
    return l->state;
}

bool store_leader_may_act(const struct store_leader *l, int64_t now_ns)
{
    return l->state == STORE_LEADING && now_ns < l->deadline_ns;
}

struct store_stamp store_leader_stamp(const struct store_leader *l)
{
    return (struct store_stamp){ .nonce = l->nonce, .manager = l->id, .epoch = l->epoch };
}

void store_leader_guard(const struct store_leader *l, struct store_condition guard[2])
{
    guard[0] = (struct store_condition){ STORE_CREATED_AT, l->keys.leader, l->created, { 0 } };
    guard[1] =
        (struct store_condition){ STORE_EQUALS, l->keys.nonce, 0, view_text(l->known_value) };
}

void store_leader_heard(struct store_leader *l, const struct store_stamp *kept)
{
    bool is_of_this_life = store_id_equal(kept->nonce, l->nonce);
    if (!is_of_this_life || kept->epoch < l->epoch)
        return;
    if (kept->epoch > l->epoch_seen)
        l->epoch_seen = kept->epoch;
    if (l->state == STORE_LEADING && !store_id_equal(kept->manager, l->id))
        resign(l, "a node has obeyed another manager of this epoch or a later one");
}

bool store_leader_adopt(struct store_leader *l, struct store_id nonce)
{
    if (!l->shown.is_listed || !l->shown.has_nonce || l->state != STORE_FOREIGN ||
        !store_id_equal(l->shown.nonce, nonce))
        return false;
    l->nonce = nonce;
    l->state = STORE_FOLLOWING;
    return true;
}

struct store_id store_leader_nonce(const struct store_leader *l)
{
    return l->nonce;
}
