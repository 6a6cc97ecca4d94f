/* A store in memory. Each client has two queues: its calls on their way, and its news on their way.
 * A call is carried out at one moment between begin and its end, so calls are linearizable. */
#include "store/model.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

enum { CALLS_MAX = 8, NEWS_MAX = 256, ROOM_FIRST = 16 };

/* A key with its value: never changed, and shared by all that show it. */
struct record {
    int32_t n_users;
    char *key;
    char *value; /* (n) */
    size_t n;
    int64_t created, changed, lease;
};
struct lease {
    int64_t id, ttl_ns, end_ns;
};
struct content {
    struct record **keys; /* (n_keys) */
    struct lease *leases; /* (n_leases) */
    int n_keys, n_keys_room, n_leases, n_leases_room;
    int64_t revision;
};
/* A call on its way: carried out at made_ns, told at end_ns. */
struct flight {
    struct store_call *call; /* NULL: forgotten */
    struct store_call done;  /* the call as it will be told */
    bool is_made, is_lost;   /* lost: it ends UNSURE; whether it was made is chance */
    bool will_be_made;
    int64_t made_ns, end_ns;
    /* Copies of what the call points to. */
    char *keys[STORE_CONDITIONS_MAX + STORE_CHANGES_MAX + 1];
    char *values[STORE_CONDITIONS_MAX + STORE_CHANGES_MAX];
    bool is_list;
    struct content listed;
};
struct news {
    enum store_news_kind kind;
    int64_t at_ns, revision;
    struct record *record; /* PUT, DELETED */
    struct content listed; /* LISTED */
};
struct client {
    struct store face;
    struct store_model *model;
    char prefix[STORE_KEY_BYTES];
    bool is_open, is_watching, is_cut, is_silent, wants_list, has_gone_back;
    int64_t slow_ns; /* that news takes longer */
    struct flight *flights[CALLS_MAX];
    int n_flights;
    struct news *news; /* (n_news) */
    int n_news, n_news_room;
    struct store_entry *entries; /* (n_entries_room) of the last poll, */
    int n_entries_room;
    struct content told; /* which point to these */
};
struct store_model {
    struct store_model_options options;
    struct rng rng;
    struct content now, saved;
    bool is_stopped;
    int64_t now_ns, due_ns;  /* of the last step; of the next one */
    struct client **clients; /* (n_clients) */
    int n_clients;
};

/* ---- Records and content. ---- */

static char *copy_bytes(struct view bytes)
{
    char *copy = mem_take(bytes.n + 1);
    if (bytes.n > 0)
        memcpy(copy, bytes.at, bytes.n);
    return copy;
}

static void drop_record(struct record *record)
{
    if (record == NULL || --record->n_users > 0)
        return;
    mem_give(record->key);
    mem_give(record->value);
    mem_give(record);
}

static struct record *use(struct record *record)
{
    record->n_users++;
    return record;
}

static int find_at(const struct content *content, const char *key)
{
    for (int i = 0; i < content->n_keys; i++)
        if (strcmp(content->keys[i]->key, key) == 0)
            return i;
    return -1;
}

static const struct record *find(const struct content *content, const char *key)
{
    int at = find_at(content, key);
    return at >= 0 ? content->keys[at] : NULL;
}

static struct lease *find_lease(struct content *content, int64_t id)
{
    for (int i = 0; i < content->n_leases; i++)
        if (content->leases[i].id == id)
            return &content->leases[i];
    return NULL;
}

/* Returns a larger array of elements of this size, if it is full. */
static void *with_room(void *array, int n, int *n_room, size_t size)
{
    if (n < *n_room)
        return array;
    int old = *n_room;
    *n_room = old > 0 ? 2 * old : ROOM_FIRST;
    return mem_grow(array, (size_t)old * size, (size_t)*n_room * size);
}

static void add_key(struct content *content, struct record *record)
{
    content->keys =
        with_room(content->keys, content->n_keys, &content->n_keys_room, sizeof(struct record *));
    content->keys[content->n_keys++] = record;
}

static void add_lease(struct content *content, struct lease lease)
{
    content->leases = with_room(content->leases, content->n_leases, &content->n_leases_room,
                                sizeof(struct lease));
    content->leases[content->n_leases++] = lease;
}

static void clear(struct content *content)
{
    for (int i = 0; i < content->n_keys; i++)
        drop_record(content->keys[i]);
    mem_give(content->keys);
    mem_give(content->leases);
    *content = (struct content){ 0 };
}

static struct content copy_of(const struct content *content)
{
    struct content copy = { .revision = content->revision };
    for (int i = 0; i < content->n_keys; i++)
        add_key(&copy, use(content->keys[i]));
    for (int i = 0; i < content->n_leases; i++)
        add_lease(&copy, content->leases[i]);
    return copy;
}

static int64_t delay(struct store_model *m)
{
    return (int64_t)(rng_exponential(&m->rng) * (double)m->options.delay_ns) + 1;
}

/* ---- News of changes. ---- */

static struct news *add_news(struct client *c, enum store_news_kind kind)
{
    int64_t at_ns = c->model->now_ns + delay(c->model) + c->slow_ns;
    c->news = with_room(c->news, c->n_news, &c->n_news_room, sizeof(struct news));
    if (c->n_news > 0) /* in order */
        at_ns = max_i64(at_ns, c->news[c->n_news - 1].at_ns);
    c->news[c->n_news] = (struct news){ .kind = kind, .at_ns = at_ns };
    return &c->news[c->n_news++];
}

static void drop_news(struct client *c)
{
    for (int i = 0; i < c->n_news; i++) {
        drop_record(c->news[i].record);
        clear(&c->news[i].listed);
    }
    c->n_news = 0;
}

static void list_anew(struct client *c)
{
    drop_news(c);
    c->wants_list = false;
    c->is_silent = false;
    if (c->has_gone_back)
        add_news(c, STORE_NEWS_BACK);
    c->has_gone_back = false;
    struct news *news = add_news(c, STORE_NEWS_LISTED);
    news->listed = copy_of(&c->model->now);
    news->revision = c->model->now.revision;
}

static void tell_all(struct store_model *m, enum store_news_kind kind, struct record *record)
{
    for (int i = 0; i < m->n_clients; i++) {
        struct client *c = m->clients[i];
        if (!c->is_open || !c->is_watching ||
            strncmp(record->key, c->prefix, strlen(c->prefix)) != 0)
            continue;
        if (c->is_cut || m->is_stopped || c->n_news >= NEWS_MAX) {
            c->wants_list = true;
            continue;
        }
        struct news *news = add_news(c, kind);
        news->record = use(record);
        news->revision = m->now.revision;
    }
}

/* ---- Carrying out. ---- */

static void remove_key(struct store_model *m, int at)
{
    struct record *gone = m->now.keys[at];
    m->now.keys[at] = m->now.keys[--m->now.n_keys];
    tell_all(m, STORE_NEWS_DELETED, gone);
    drop_record(gone);
}

static void end_lease(struct store_model *m, struct lease *lease)
{
    int64_t id = lease->id;
    bool is_first = true;
    *lease = m->now.leases[--m->now.n_leases];
    for (int i = m->now.n_keys - 1; i >= 0; i--)
        if (m->now.keys[i]->lease == id) {
            m->now.revision += is_first;
            is_first = false;
            remove_key(m, i);
        }
}

static bool holds(struct store_model *m, const struct store_condition *condition)
{
    const struct record *key = find(&m->now, condition->key);
    switch (condition->kind) {
    case STORE_CREATED_AT:
        return (key != NULL ? key->created : 0) == condition->revision;
    case STORE_CHANGED_AT:
        return (key != NULL ? key->changed : 0) == condition->revision;
    case STORE_EQUALS:
        return key != NULL && view_equal(view_of(key->value, key->n), condition->value);
    }
    return false;
}

static void put(struct store_model *m, const struct store_change *change)
{
    int at = find_at(&m->now, change->key);
    struct record *record = mem_take(sizeof *record);
    *record = (struct record){ .n_users = 1,
                               .key = mem_copy_text(change->key),
                               .value = copy_bytes(change->value),
                               .n = change->value.n,
                               .created = at >= 0 ? m->now.keys[at]->created : m->now.revision,
                               .changed = m->now.revision,
                               .lease = change->lease };
    if (at >= 0) {
        drop_record(m->now.keys[at]);
        m->now.keys[at] = record;
    } else {
        add_key(&m->now, record);
    }
    tell_all(m, STORE_NEWS_PUT, record);
}

static void make_changes(struct store_model *m, struct store_call *call)
{
    for (int i = 0; i < call->n_changes; i++)
        if (call->changes[i].lease != 0 && find_lease(&m->now, call->changes[i].lease) == NULL) {
            call->end = STORE_REFUSED;
            fault_set(&call->fault, STATUS_NOT_FOUND, "there is no such lease");
            return;
        }
    for (int i = 0; i < call->n_conditions; i++)
        if (!holds(m, &call->conditions[i]))
            return;
    call->is_made = true;
    m->now.revision++;
    for (int i = 0; i < call->n_changes; i++) {
        int at = find_at(&m->now, call->changes[i].key);
        if (!call->changes[i].is_delete)
            put(m, &call->changes[i]);
        else if (at >= 0)
            remove_key(m, at);
    }
}

static void change_lease(struct store_model *m, struct store_call *call)
{
    struct lease *lease = find_lease(&m->now, call->lease);
    if (call->kind == STORE_GRANT && lease == NULL) {
        int64_t ttl_ns = call->ttl_s * TIME_NS_PER_S;
        add_lease(&m->now, (struct lease){ call->lease, ttl_ns, m->now_ns + ttl_ns });
    } else if (call->kind == STORE_KEEP) {
        call->has_lease = lease != NULL;
        call->ttl_s = lease != NULL ? lease->ttl_ns / TIME_NS_PER_S : 0;
        if (lease != NULL)
            lease->end_ns = m->now_ns + lease->ttl_ns;
    } else if (call->kind == STORE_REVOKE && lease != NULL) {
        end_lease(m, lease);
    } else {
        call->end = STORE_REFUSED;
        fault_set(&call->fault, STATUS_NOT_FOUND, "there is no such lease, or it exists already");
    }
}

static void carry_out(struct store_model *m, struct flight *f)
{
    struct store_call *call = &f->done;
    f->is_made = true;
    if (!f->will_be_made)
        return;
    call->end = STORE_DONE;
    if (call->kind == STORE_CHANGE)
        make_changes(m, call);
    else if (call->kind == STORE_LIST)
        f->listed = copy_of(&m->now), f->is_list = true;
    else
        change_lease(m, call);
    call->revision = m->now.revision;
}

/* ---- A client's face. ---- */

static const char *copy_key(struct flight *f, int i, const char *key)
{
    return f->keys[i] = mem_copy_text(key);
}

static struct view copy_value(struct flight *f, int i, struct view value)
{
    return view_of(f->values[i] = copy_bytes(value), value.n);
}

static void begin(void *self, struct store_call *call)
{
    struct client *c = self;
    struct store_model *m = c->model;
    CHECK(c->n_flights < CALLS_MAX);
    struct flight *f = mem_take(sizeof *f);
    call->end = STORE_IN_FLIGHT;
    f->call = call;
    f->done = *call;
    for (int i = 0; i < call->n_conditions; i++) {
        f->done.conditions[i].key = copy_key(f, i, call->conditions[i].key);
        f->done.conditions[i].value = copy_value(f, i, call->conditions[i].value);
    }
    for (int i = 0; i < call->n_changes; i++) {
        int k = STORE_CONDITIONS_MAX + i;
        f->done.changes[i].key = copy_key(f, k, call->changes[i].key);
        f->done.changes[i].value = copy_value(f, k, call->changes[i].value);
    }
    if (call->prefix != NULL)
        f->done.prefix = copy_key(f, STORE_CONDITIONS_MAX + STORE_CHANGES_MAX, call->prefix);
    f->is_lost = rng_unit(&m->rng) < m->options.loss;
    f->will_be_made = !f->is_lost || rng_below(&m->rng, 2) == 0;
    f->made_ns = m->now_ns + delay(m);
    f->end_ns = f->is_lost ? m->now_ns + call->timeout_ns : f->made_ns + delay(m);
    c->flights[c->n_flights++] = f;
    m->due_ns = min_i64(m->due_ns, min_i64(f->made_ns, f->end_ns));
}

static void forget(void *self, struct store_call *call)
{
    struct client *c = self;
    for (int i = 0; i < c->n_flights; i++)
        if (c->flights[i]->call == call)
            c->flights[i]->call = NULL;
}

static void watch(void *self, const char *prefix)
{
    struct client *c = self;
    snprintf(c->prefix, sizeof(c->prefix), "%s", prefix);
    c->is_watching = c->wants_list = true;
    c->model->due_ns = c->model->now_ns;
}

/* Points the client's entries at content that stays until its next poll, and takes it over. */
static int show(struct client *c, struct content *content, const char *prefix)
{
    int n = 0;
    clear(&c->told);
    c->told = *content;
    *content = (struct content){ 0 };
    while (c->n_entries_room < c->told.n_keys)
        c->entries = with_room(c->entries, c->n_entries_room, &c->n_entries_room,
                               sizeof(struct store_entry));
    for (int i = 0; i < c->told.n_keys; i++) {
        const struct record *r = c->told.keys[i];
        if (strncmp(r->key, prefix, strlen(prefix)) == 0)
            c->entries[n++] =
                (struct store_entry){ r->key, view_of(r->value, r->n), r->created, r->changed };
    }
    return n;
}

static void end_flight(struct client *c, int i)
{
    struct flight *f = c->flights[i];
    for (int k = 0; k < (int)COUNT_OF(f->keys); k++)
        mem_give(f->keys[k]);
    for (int k = 0; k < (int)COUNT_OF(f->values); k++)
        mem_give(f->values[k]);
    clear(&f->listed);
    mem_give(f);
    memmove(c->flights + i, c->flights + i + 1, (size_t)(--c->n_flights - i) * sizeof(*c->flights));
}

/* Tells of the i-th call in flight. False: it was forgotten. */
static bool tell_call(struct client *c, int i, struct store_news *news)
{
    struct flight *f = c->flights[i];
    struct store_call *call = f->call;
    if (call != NULL) {
        bool is_unsure = f->is_lost || c->is_cut;
        call->end = !is_unsure ? f->done.end : f->is_made ? STORE_UNSURE : STORE_UNREACHED;
        call->is_made = !is_unsure && f->done.is_made;
        call->has_lease = !is_unsure && f->done.has_lease;
        call->revision = is_unsure ? 0 : f->done.revision;
        call->ttl_s = f->done.ttl_s;
        call->fault = f->done.fault;
        call->n_entries = !is_unsure && f->is_list ? show(c, &f->listed, f->done.prefix) : 0;
        call->entries = c->entries;
        *news = (struct store_news){ .kind = STORE_NEWS_CALL, .call = call };
    }
    end_flight(c, i);
    return call != NULL;
}

static bool poll(void *self, struct store_news *news)
{
    struct client *c = self;
    const struct store_model *m = c->model;
    for (int i = 0; i < c->n_flights; i++)
        if (c->flights[i]->end_ns <= m->now_ns && tell_call(c, i--, news))
            return true;
    if ((c->is_cut || m->is_stopped) && c->is_watching && !c->is_silent) {
        c->is_silent = c->wants_list = true;
        drop_news(c);
        *news = (struct store_news){ .kind = STORE_NEWS_SILENT };
        return true;
    }
    if (c->is_cut || m->is_stopped || c->n_news == 0 || c->news[0].at_ns > m->now_ns)
        return false;
    struct news first = c->news[0];
    memmove(c->news, c->news + 1, (size_t)--c->n_news * sizeof(*c->news));
    *news = (struct store_news){ .kind = first.kind, .revision = first.revision };
    if (first.record != NULL)
        add_key(&first.listed, first.record);
    if (first.kind == STORE_NEWS_LISTED || first.record != NULL)
        news->n_entries = show(c, &first.listed, c->prefix);
    news->entries = c->entries;
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static void close_client(void *self)
{
    struct client *c = self;
    while (c->n_flights > 0)
        end_flight(c, 0);
    drop_news(c);
    mem_give(c->news);
    mem_give(c->entries);
    clear(&c->told);
    *c = (struct client){ .model = c->model };
}

struct store *store_model_client(struct store_model *m)
{
    struct client *c = NULL;
    for (int i = 0; i < m->n_clients && c == NULL; i++)
        if (!m->clients[i]->is_open)
            c = m->clients[i];
    if (c == NULL) {
        size_t n = (size_t)m->n_clients, size = sizeof(struct client *);
        m->clients = mem_grow(m->clients, n * size, (n + 1) * size);
        c = m->clients[m->n_clients++] = mem_take(sizeof *c);
    }
    *c = (struct client){ .model = m, .is_open = true };
    c->face = (struct store){ c, begin, forget, watch, poll, wait_fd, close_client };
    return &c->face;
}

/* ---- Time. ---- */

static void step_client(struct client *c, int64_t *next_ns)
{
    struct store_model *m = c->model;
    bool is_there = !c->is_cut && !m->is_stopped;
    for (int i = 0; i < c->n_flights; i++) {
        struct flight *f = c->flights[i];
        if (!f->is_made && f->made_ns <= m->now_ns && is_there)
            carry_out(m, f);
        else if (!f->is_made && f->made_ns <= m->now_ns) /* it never arrives */
            f->end_ns = max_i64(f->end_ns, f->made_ns + f->done.timeout_ns);
        if (f->end_ns <= m->now_ns && !f->is_made)
            f->is_lost = true;
        if (!f->is_made && f->made_ns > m->now_ns)
            *next_ns = min_i64(*next_ns, f->made_ns);
        if (f->end_ns > m->now_ns) /* else it is told by the next poll */
            *next_ns = min_i64(*next_ns, f->end_ns);
    }
    if (c->is_watching && c->wants_list && is_there)
        list_anew(c);
    if (c->n_news > 0 && c->news[0].at_ns > m->now_ns)
        *next_ns = min_i64(*next_ns, c->news[0].at_ns);
}

int64_t store_model_step(struct store_model *m, int64_t now_ns)
{
    int64_t next_ns = TIME_NEVER;
    m->now_ns = now_ns;
    for (int i = m->now.n_leases - 1; i >= 0 && !m->is_stopped; i--)
        if (m->now.leases[i].end_ns <= now_ns)
            end_lease(m, &m->now.leases[i]);
    for (int i = 0; i < m->n_clients; i++)
        if (m->clients[i]->is_open)
            step_client(m->clients[i], &next_ns);
    for (int i = 0; i < m->now.n_leases && !m->is_stopped; i++)
        next_ns = min_i64(next_ns, m->now.leases[i].end_ns);
    m->due_ns = max_i64(next_ns, now_ns + 1);
    return m->due_ns;
}

int64_t store_model_due_ns(const struct store_model *m)
{
    return m->due_ns;
}

bool store_model_has_news(const struct store *client)
{
    const struct client *c = client->self;
    int64_t now_ns = c->model->now_ns;
    bool is_away = c->is_cut || c->model->is_stopped, has_call = false;
    for (int i = 0; i < c->n_flights; i++)
        has_call = has_call || c->flights[i]->end_ns <= now_ns;
    return has_call || (is_away && c->is_watching && !c->is_silent) ||
           (!is_away && c->n_news > 0 && c->news[0].at_ns <= now_ns);
}

/* ---- Faults. ---- */

void store_model_cut(struct store *client, bool is_cut)
{
    struct client *c = client->self;
    c->is_cut = is_cut;
    c->model->due_ns = c->model->now_ns;
}

void store_model_lose(struct store_model *m, double loss)
{
    m->options.loss = loss;
}

void store_model_stop(struct store_model *m)
{
    m->is_stopped = true;
    m->due_ns = m->now_ns;
}

void store_model_start(struct store_model *m)
{
    m->is_stopped = false;
    m->due_ns = m->now_ns;
    for (int i = 0; i < m->now.n_leases; i++)
        m->now.leases[i].end_ns = m->now_ns + m->now.leases[i].ttl_ns;
}

void store_model_save(struct store_model *m)
{
    clear(&m->saved);
    m->saved = copy_of(&m->now);
}

static void lose_history(struct store_model *m)
{
    for (int i = 0; i < m->n_clients; i++)
        m->clients[i]->wants_list = m->clients[i]->has_gone_back = true;
    store_model_start(m);
}

void store_model_restore(struct store_model *m)
{
    clear(&m->now);
    m->now = copy_of(&m->saved);
    lose_history(m);
}

void store_model_wipe(struct store_model *m)
{
    clear(&m->now);
    lose_history(m);
}

void store_model_compact(struct store_model *m)
{
    for (int i = 0; i < m->n_clients; i++)
        m->clients[i]->wants_list = m->clients[i]->is_watching;
    m->due_ns = m->now_ns;
}

void store_model_slow(struct store *client, int64_t news_ns)
{
    ((struct client *)client->self)->slow_ns = news_ns;
}

int store_model_n_leases(const struct store_model *m)
{
    return m->now.n_leases;
}

struct view store_model_value(const struct store_model *m, const char *key)
{
    const struct record *record = find(&m->now, key);
    return record != NULL ? view_of(record->value, record->n) : view_of(NULL, 0);
}

int store_model_n_keys(const struct store_model *m, const char *prefix)
{
    int n = 0;
    for (int i = 0; i < m->now.n_keys; i++)
        n += strncmp(m->now.keys[i]->key, prefix, strlen(prefix)) == 0;
    return n;
}

void store_model_put(struct store_model *m, const char *key, const char *value)
{
    const struct store_change change = { .key = key,
                                         .value = view_text(value != NULL ? value : "") };
    int at = find_at(&m->now, key);
    m->now.revision++;
    m->due_ns = m->now_ns;
    if (value != NULL)
        put(m, &change);
    else if (at >= 0)
        remove_key(m, at);
}

struct store_model *store_model_open(const struct store_model_options *options)
{
    struct store_model *m = mem_take(sizeof *m);
    m->options = *options;
    rng_init(&m->rng, options->seed, 0);
    return m;
}

void store_model_close(struct store_model *m)
{
    for (int i = 0; i < m->n_clients; i++) {
        CHECK(!m->clients[i]->is_open);
        mem_give(m->clients[i]);
    }
    mem_give(m->clients);
    clear(&m->now);
    clear(&m->saved);
    mem_give(m);
}
