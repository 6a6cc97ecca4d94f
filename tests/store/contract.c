/* The contract of store/store.h. */
#include "store/contract.h"

#include "test.h"

#include "base/rng.h"
#include "base/time.h"

enum { KEYS_MAX = 16 };
static const int64_t STEP_NS = 10 * TIME_NS_PER_MS, WAIT_NS = 10 * TIME_NS_PER_S;

/* The view of a watch, as its news build it. */
struct seen {
    int n_keys, n_listed, n_silent, n_back;
    struct {
        char key[64], value[64];
        int64_t created, changed;
    } keys[KEYS_MAX];
    int64_t revision;
};

static void forget_key(struct seen *seen, const char *key)
{
    for (int i = 0; i < seen->n_keys; i++)
        if (strcmp(seen->keys[i].key, key) == 0)
            seen->keys[i--] = seen->keys[--seen->n_keys];
}

static void see(struct seen *seen, const struct store_entry *entry)
{
    forget_key(seen, entry->key);
    assert_true(seen->n_keys < KEYS_MAX && entry->value.n < 64);
    snprintf(seen->keys[seen->n_keys].key, 64, "%s", entry->key);
    snprintf(seen->keys[seen->n_keys].value, 64, "%.*s", (int)entry->value.n, entry->value.at);
    seen->keys[seen->n_keys].created = entry->created;
    seen->keys[seen->n_keys++].changed = entry->changed;
}

/* NULL: the key is not there. */
static const char *value_of(const struct seen *seen, const char *key)
{
    for (int i = 0; i < seen->n_keys; i++)
        if (strcmp(seen->keys[i].key, key) == 0)
            return seen->keys[i].value;
    return NULL;
}

static void take(struct seen *seen, const struct store_news *news)
{
    switch (news->kind) {
    case STORE_NEWS_LISTED:
        seen->n_listed++;
        seen->n_keys = 0;
        seen->revision = news->revision;
        for (int i = 0; i < news->n_entries; i++)
            see(seen, &news->entries[i]);
        break;
    case STORE_NEWS_PUT:
        assert_true(news->revision > seen->revision || seen->n_listed == 0 ||
                    news->entries[0].changed == seen->revision); /* of one transaction */
        see(seen, &news->entries[0]);
        break;
    case STORE_NEWS_DELETED:
        forget_key(seen, news->entries[0].key);
        break;
    case STORE_NEWS_SILENT:
        seen->n_silent++;
        break;
    case STORE_NEWS_BACK:
        seen->n_back++;
        break;
    default:
        return;
    }
    if (news->revision > 0)
        seen->revision = news->revision;
}

/* Polls client `of` until the call has ended, or, without a call, once. */
static void turn(const struct contract *c, struct store *of, struct seen *seen,
                 const struct store_call *call)
{
    struct store_news news;
    for (int64_t ns = 0; ns < WAIT_NS; ns += STEP_NS) {
        while (of->poll(of->self, &news)) {
            if (seen != NULL)
                take(seen, &news);
            if (call != NULL && news.call == call)
                return;
        }
        if (call == NULL)
            return;
        c->pass(c->self, STEP_NS);
    }
    fail_msg("the call did not end");
}

static void make(const struct contract *c, struct store *of, struct store_call *call)
{
    call->timeout_ns = 5 * TIME_NS_PER_S;
    of->begin(of->self, call);
    assert_int_equal(call->end, STORE_IN_FLIGHT);
    turn(c, of, NULL, call);
}

/* Waits until the watch of client b shows the key with this value (NULL: not at all). */
static void wait_for(const struct contract *c, struct seen *seen, const char *key,
                     const char *value)
{
    const char *now = NULL;
    for (int64_t ns = 0; ns < WAIT_NS; ns += STEP_NS) {
        turn(c, c->b, seen, NULL);
        now = value_of(seen, key);
        if (seen->n_listed > 0 &&
            (value == NULL ? now == NULL : now != NULL && strcmp(now, value) == 0))
            return;
        c->pass(c->self, STEP_NS);
    }
    fail_msg("%s is %s", key, now != NULL ? now : "not there");
}

static struct store_call put_of(const char *key, const char *value, int64_t lease)
{
    struct store_call call = { .kind = STORE_CHANGE, .n_changes = 1 };
    call.changes[0] = (struct store_change){ key, view_text(value), lease, false };
    return call;
}

static struct store_call *put(const struct contract *c, struct store_call *call, const char *key,
                              const char *value)
{
    *call = put_of(key, value, 0);
    make(c, c->a, call);
    assert_int_equal(call->end, STORE_DONE);
    assert_true(call->is_made && call->revision > 0);
    return call;
}

void contract_conditions(const struct contract *c)
{
    struct store_call call, list = { .kind = STORE_LIST, .prefix = "/contract/c/" };
    /* Created once. */
    for (int i = 0; i < 2; i++) {
        call = put_of("/contract/c/a", i == 0 ? "one" : "two", 0);
        call.n_conditions = 1;
        call.conditions[0] =
            (struct store_condition){ STORE_CREATED_AT, "/contract/c/a", 0, { 0 } };
        make(c, c->a, &call);
        assert_int_equal(call.end, STORE_DONE);
        assert_int_equal(call.is_made, i == 0);
    }
    make(c, c->b, &list);
    assert_int_equal(list.end, STORE_DONE);
    assert_int_equal(list.n_entries, 1);
    assert_string_equal(list.entries[0].key, "/contract/c/a");
    assert_true(view_equal_text(list.entries[0].value, "one"));
    int64_t created = list.entries[0].created;
    assert_int_equal(list.entries[0].changed, created);
    assert_true(list.revision >= created);
    /* All of the changes, or none. */
    const struct store_condition holds[] = { { STORE_CREATED_AT, "/contract/c/a", created, { 0 } },
                                             { STORE_CHANGED_AT, "/contract/c/a", created, { 0 } },
                                             { STORE_EQUALS, "/contract/c/a", 0,
                                               view_text("one") } };
    for (int k = 0; k <= 3; k++) {
        call = put_of("/contract/c/a", "one", 0);
        call.n_conditions = 3;
        memcpy(call.conditions, holds, sizeof holds);
        if (k < 2)
            call.conditions[k].revision++;
        else if (k == 2)
            call.conditions[k].value = view_text("on");
        call.n_changes = 2;
        call.changes[1] = (struct store_change){ "/contract/c/b", view_text(""), 0, false };
        make(c, c->a, &call);
        assert_int_equal(call.end, STORE_DONE);
        assert_int_equal(call.is_made, k == 3);
        make(c, c->b, &list);
        assert_int_equal(list.n_entries, k == 3 ? 2 : 1);
    }
    assert_int_equal(list.entries[0].created, created);
    assert_true(list.entries[0].changed > created);
    assert_int_equal(list.entries[1].value.n, 0);
    /* Deletions. */
    call = (struct store_call){ .kind = STORE_CHANGE, .n_changes = 2 };
    call.changes[0] = (struct store_change){ .key = "/contract/c/a", .is_delete = true };
    call.changes[1] = (struct store_change){ .key = "/contract/c/b", .is_delete = true };
    make(c, c->a, &call);
    assert_true(call.is_made);
    make(c, c->b, &list);
    assert_int_equal(list.n_entries, 0);
}

void contract_leases(const struct contract *c)
{
    struct seen seen = { 0 };
    struct store_call call = { .kind = STORE_GRANT, .lease = 0x7771234, .ttl_s = 2 };
    struct store_call keep = { .kind = STORE_KEEP, .lease = 0x7771234 };
    c->b->watch(c->b->self, "/contract/l/");
    make(c, c->a, &call);
    assert_int_equal(call.end, STORE_DONE);
    assert_true(call.ttl_s >= 2);
    make(c, c->a, &call); /* its id is in use */
    assert_int_equal(call.end, STORE_REFUSED);
    call = put_of("/contract/l/a", "here", 0x7771234);
    make(c, c->a, &call);
    assert_true(call.end == STORE_DONE && call.is_made);
    wait_for(c, &seen, "/contract/l/a", "here");
    for (int i = 0; i < 6; i++) { /* for longer than the lease */
        make(c, c->a, &keep);
        assert_true(keep.end == STORE_DONE && keep.has_lease && keep.ttl_s >= 2);
        c->pass(c->self, TIME_NS_PER_S / 2);
        turn(c, c->b, &seen, NULL);
        assert_non_null(value_of(&seen, "/contract/l/a"));
    }
    wait_for(c, &seen, "/contract/l/a", NULL); /* it expires */
    make(c, c->a, &keep);
    assert_true(keep.end == STORE_DONE && !keep.has_lease);
    call = put_of("/contract/l/a", "late", 0x7771234);
    make(c, c->a, &call);
    assert_int_equal(call.end, STORE_REFUSED);
    call = (struct store_call){ .kind = STORE_GRANT, .lease = 0x7771235, .ttl_s = 60 };
    make(c, c->a, &call);
    call = put_of("/contract/l/b", "x", 0x7771235);
    make(c, c->a, &call);
    wait_for(c, &seen, "/contract/l/b", "x");
    call = (struct store_call){ .kind = STORE_REVOKE, .lease = 0x7771235 };
    make(c, c->a, &call);
    assert_int_equal(call.end, STORE_DONE);
    wait_for(c, &seen, "/contract/l/b", NULL);
    make(c, c->a, &call);
    assert_int_equal(call.end, STORE_REFUSED);
}

void contract_watch(const struct contract *c)
{
    struct seen seen = { 0 };
    struct store_call call;
    char key[64], value[64];
    put(c, &call, "/contract/w/early", "1");
    put(c, &call, "/contract/other", "1"); /* of another prefix */
    c->b->watch(c->b->self, "/contract/w/");
    wait_for(c, &seen, "/contract/w/early", "1");
    assert_int_equal(seen.n_keys, 1);
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "/contract/w/%d", i % 4);
        snprintf(value, sizeof value, "\"%d\n\xc3\xa4", i);
        put(c, &call, key, value);
    }
    wait_for(c, &seen, "/contract/w/3", value);
    assert_int_equal(seen.n_keys, 5);
    int n_listed = seen.n_listed;
    assert_true(n_listed <= 2);
    call = (struct store_call){ .kind = STORE_CHANGE, .n_changes = 2 };
    call.changes[0] = (struct store_change){ .key = "/contract/w/0", .is_delete = true };
    call.changes[1] = (struct store_change){ "/contract/w/1", view_text("both"), 0, false };
    make(c, c->a, &call);
    wait_for(c, &seen, "/contract/w/1", "both");
    wait_for(c, &seen, "/contract/w/0", NULL);
    c->pass(c->self, 3 * TIME_NS_PER_S / 2); /* silence is no loss */
    turn(c, c->b, &seen, NULL);
    assert_int_equal(seen.n_silent + seen.n_back, 0);
    assert_int_equal(seen.n_keys, 4);
}

void contract_forgets(const struct contract *c)
{
    struct store_news news;
    struct store_call *calls = calloc(8, sizeof *calls);
    for (int i = 0; i < 8; i++) {
        calls[i] = put_of("/contract/f", "x", 0);
        calls[i].timeout_ns = TIME_NS_PER_S;
        c->a->begin(c->a->self, &calls[i]);
    }
    c->pass(c->self, STEP_NS);
    for (int i = 0; i < 8; i++)
        c->a->forget(c->a->self, &calls[i]);
    free(calls); /* so that a later use is found by a sanitizer */
    c->pass(c->self, TIME_NS_PER_S);
    while (c->a->poll(c->a->self, &news))
        assert_int_not_equal(news.kind, STORE_NEWS_CALL);
}

static void until_silent(const struct contract *c, struct seen *seen)
{
    for (int64_t ns = 0; ns < WAIT_NS && seen->n_silent == 0; ns += STEP_NS) {
        c->pass(c->self, STEP_NS);
        turn(c, c->b, seen, NULL);
    }
    assert_true(seen->n_silent > 0);
}

void contract_outages(const struct contract *c)
{
    struct seen seen = { 0 };
    struct store_call call;
    c->b->watch(c->b->self, "/contract/o/");
    put(c, &call, "/contract/o/a", "1");
    for (int i = 0; i < 5; i++)
        put(c, &call, "/contract/o/b", "1");
    wait_for(c, &seen, "/contract/o/a", "1");
    c->stop(c->self);
    until_silent(c, &seen);
    call = put_of("/contract/o/a", "2", 0);
    call.timeout_ns = TIME_NS_PER_S;
    c->a->begin(c->a->self, &call);
    turn(c, c->a, NULL, &call);
    assert_true(call.end == STORE_UNSURE || call.end == STORE_UNREACHED);
    int n_listed = seen.n_listed;
    c->start(c->self);
    put(c, &call, "/contract/o/a", "3");
    wait_for(c, &seen, "/contract/o/a", "3");
    assert_true(seen.n_listed > n_listed);
    assert_int_equal(seen.n_back, 0);
    c->wipe(c->self);
    wait_for(c, &seen, "/contract/o/a", NULL);
    assert_true(seen.n_back > 0);
    put(c, &call, "/contract/o/a", "4");
    wait_for(c, &seen, "/contract/o/a", "4");
}
