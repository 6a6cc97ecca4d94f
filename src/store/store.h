/* The contract of a consistent key-value store (etcd), and all that the rest knows of it.
 *
 * The store holds what must survive every process: members under leases, the wanted models, the
 * placement in force, and which manager leads. Serving never waits for it.
 *
 *   call:   idle --begin--> in flight --poll tells of it--> ended
 *   watch:  LISTED (everything under the prefix, once), then PUT and DELETED, one change each;
 *           SILENT (the view may be stale) and LIVE (it is current again) in between;
 *           BACK (the store lost history, or is another one), and then LISTED again
 *
 * A store belongs to one thread. The implementation over HTTP is room etcd; store/model.h is a
 * store in memory that fails in every way that is legal, for tests and the simulator. */
#pragma once
#include "base/status.h"
#include "base/str.h"

enum {
    STORE_KEY_BYTES = 256, /* of the longest key, with its zero byte */
    STORE_CONDITIONS_MAX = 4,
    STORE_CHANGES_MAX = 8,
};

struct store_entry {
    const char *key;
    struct view value;
    int64_t created, changed; /* revisions: of the key's creation and of its last change */
};

/* A condition that must hold for the changes of a call to be made. */
enum store_condition_kind {
    STORE_CREATED_AT, /* the key was created at `revision`; 0: there is no such key */
    STORE_CHANGED_AT, /* the key was changed last at `revision`; 0: there is no such key */
    STORE_EQUALS,     /* the key has `value` */
};
struct store_condition {
    enum store_condition_kind kind;
    const char *key;
    int64_t revision;
    struct view value;
};
struct store_change {
    const char *key;
    struct view value;
    int64_t lease; /* the key goes when the lease ends; 0: it stays */
    bool is_delete;
};

enum store_call_kind {
    STORE_LIST,   /* all keys that start with `prefix`, as of now: never an old state */
    STORE_CHANGE, /* all of the changes if all of the conditions hold, otherwise none */
    STORE_GRANT,  /* a lease of ttl_s under an id of the caller's choice: random, 63 bits, not 0 */
    STORE_KEEP,   /* gives the lease its full time again */
    STORE_REVOKE, /* ends the lease, and all keys under it go */
};
/* How a call ended. */
enum store_end {
    STORE_IN_FLIGHT,
    STORE_DONE,
    STORE_REFUSED,   /* the store said no, and nothing has changed */
    STORE_UNSURE,    /* a change may have been made or not: list before deciding anything */
    STORE_UNREACHED, /* no store was reached, and nothing has changed */
};
/* The caller owns it and all that it points to, and changes nothing of it while it is in flight. */
struct store_call {
    enum store_call_kind kind;
    int64_t timeout_ns; /* after this it ends as UNSURE or UNREACHED */
    const char *prefix; /* LIST */
    int n_conditions, n_changes;
    struct store_condition conditions[STORE_CONDITIONS_MAX];
    struct store_change changes[STORE_CHANGES_MAX];
    int64_t lease; /* GRANT, KEEP, REVOKE */
    int64_t ttl_s; /* GRANT; set to what the store gave, which may be more. KEEP: out */
    /* Set when it has ended. */
    enum store_end end;
    bool is_made;                      /* CHANGE: the conditions held */
    bool has_lease;                    /* KEEP: the lease exists, so it was kept */
    int64_t revision;                  /* of the store, as of the answer; 0: unknown */
    int n_entries;                     /* LIST */
    const struct store_entry *entries; /* the store's, valid until its next poll */
    struct fault fault;                /* why, unless it is DONE */
};

enum store_news_kind {
    STORE_NEWS_CALL,
    STORE_NEWS_LISTED,  /* entries replace all that was known */
    STORE_NEWS_PUT,     /* entries[0] */
    STORE_NEWS_DELETED, /* entries[0].key */
    STORE_NEWS_SILENT,
    STORE_NEWS_LIVE,
    STORE_NEWS_BACK, /* whatever was concluded from this store is void; LISTED follows */
};
struct store_news {
    enum store_news_kind kind;
    struct store_call *call;
    int n_entries;
    const struct store_entry *entries; /* the store's, valid until its next poll */
    int64_t revision;
};

struct store {
    void *self;
    /* The store may tell the end only by a later poll, never inside this call. */
    void (*begin)(void *self, struct store_call *call);
    /* Forgets a call in flight: it will not be told. Its effect may still happen. */
    void (*forget)(void *self, struct store_call *call);
    /* Watches all keys that start with the prefix, from now on. One watch a store. */
    void (*watch)(void *self, const char *prefix);
    /* The next news, in order; false: there is none. */
    bool (*poll)(void *self, struct store_news *news);
    int (*wait_fd)(void *self); /* readable when poll has news; -1 in a model */
    void (*close)(void *self);
};
