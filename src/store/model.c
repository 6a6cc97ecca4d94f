/* A store in memory. Each client has two queues: its calls on their way, and its news on their way.
 * A call is carried out at one moment between begin and its end, so calls are linearizable. */
#include "store/model.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

enum { KEYS_MAX = 64, LEASES_MAX = 64, CLIENTS_MAX = 16, CALLS_MAX = 8, NEWS_MAX = 256 };
enum { VALUE_BYTES = 1024 };

struct key {
    char key[STORE_KEY_BYTES];
    char value[VALUE_BYTES];
    size_t n;
    int64_t created, changed, lease;
};
struct lease {
    int64_t id, ttl_ns, end_ns;
};
struct content {
    struct key keys[KEYS_MAX];
    struct lease leases[LEASES_MAX];
    int n_keys, n_leases;
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
    char keys[STORE_CONDITIONS_MAX + STORE_CHANGES_MAX + 1][STORE_KEY_BYTES];
    char values[STORE_CONDITIONS_MAX + STORE_CHANGES_MAX][VALUE_BYTES];
    struct content *listed;
};
struct news {
    enum store_news_kind kind;
    int64_t at_ns, revision;
    struct key key;
    struct content *listed;
};
struct client {
    struct store face;
    struct store_model *model;
    char prefix[STORE_KEY_BYTES];
    bool is_open, is_watching, is_cut, is_silent, wants_list, has_gone_back;
    struct flight *flights[CALLS_MAX];
    int n_flights;
    struct news *news; /* (NEWS_MAX) */
    int n_news;
    struct store_entry entries[KEYS_MAX];
    struct content told; /* what the entries of the last poll point to */
};
struct store_model {
    struct store_model_options options;
    struct rng rng;
    struct content now, saved;
    bool is_stopped;
    int64_t now_ns;
    struct client clients[CLIENTS_MAX];
    int n_clients;
};

/* ---- Content. ---- */

static struct key *find(struct content *content, const char *key)
{
    for (int i = 0; i < content->n_keys; i++)
        if (strcmp(content->keys[i].key, key) == 0)
            return &content->keys[i];
    return NULL;
}

static struct lease *find_lease(struct content *content, int64_t id)
{
    for (int i = 0; i < content->n_leases; i++)
        if (content->leases[i].id == id)
            return &content->leases[i];
    return NULL;
}

static int64_t delay(struct store_model *m)
{
    return (int64_t)(rng_exponential(&m->rng) * (double)m->options.delay_ns) + 1;
}

/* ---- News of changes. ---- */

static struct news *add_news(struct client *c, enum store_news_kind kind)
{
    int64_t at_ns = c->model->now_ns + delay(c->model);
    CHECK(c->n_news < NEWS_MAX);
    if (c->n_news > 0) /* in order */
        at_ns = max_i64(at_ns, c->news[c->n_news - 1].at_ns);
    c->news[c->n_news] = (struct news){ .kind = kind, .at_ns = at_ns };
    return &c->news[c->n_news++];
}

static struct content *copy_of(const struct content *content)
{
    struct content *copy = mem_take(sizeof *copy);
    *copy = *content;
    return copy;
}

static void drop_news(struct client *c)
{
    for (int i = 0; i < c->n_news; i++)
        mem_give(c->news[i].listed);
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

static void tell_all(struct store_model *m, enum store_news_kind kind, const struct key *key)
{
    for (int i = 0; i < m->n_clients; i++) {
        struct client *c = &m->clients[i];
        if (!c->is_open || !c->is_watching || strncmp(key->key, c->prefix, strlen(c->prefix)) != 0)
            continue;
        if (c->is_cut || m->is_stopped || c->n_news >= NEWS_MAX - 4) {
            c->wants_list = true;
            continue;
        }
        struct news *news = add_news(c, kind);
        news->key = *key;
        news->revision = m->now.revision;
    }
}

/* ---- Carrying out. ---- */

static void remove_key(struct store_model *m, struct key *key)
{
    struct key gone = *key;
    gone.changed = m->now.revision;
    *key = m->now.keys[--m->now.n_keys];
    tell_all(m, STORE_NEWS_DELETED, &gone);
}

static void end_lease(struct store_model *m, struct lease *lease)
{
    int64_t id = lease->id;
    bool is_first = true;
    *lease = m->now.leases[--m->now.n_leases];
    for (int i = m->now.n_keys - 1; i >= 0; i--)
        if (m->now.keys[i].lease == id) {
            m->now.revision += is_first;
            is_first = false;
            remove_key(m, &m->now.keys[i]);
        }
}

static bool holds(struct store_model *m, const struct store_condition *condition)
{
    const struct key *key = find(&m->now, condition->key);
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
    struct key *key = find(&m->now, change->key);
    if (key == NULL) {
        CHECK(m->now.n_keys < KEYS_MAX);
        key = &m->now.keys[m->now.n_keys++];
        *key = (struct key){ .created = m->now.revision };
        snprintf(key->key, sizeof(key->key), "%s", change->key);
    }
    CHECK(change->value.n <= VALUE_BYTES);
    if (change->value.n > 0)
        memcpy(key->value, change->value.at, change->value.n);
    key->n = change->value.n;
    key->changed = m->now.revision;
    key->lease = change->lease;
    tell_all(m, STORE_NEWS_PUT, key);
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
        struct key *key = find(&m->now, call->changes[i].key);
        if (!call->changes[i].is_delete)
            put(m, &call->changes[i]);
        else if (key != NULL)
            remove_key(m, key);
    }
}

static void change_lease(struct store_model *m, struct store_call *call)
{
    struct lease *lease = find_lease(&m->now, call->lease);
    if (call->kind == STORE_GRANT && lease == NULL) {
        CHECK(m->now.n_leases < LEASES_MAX);
        int64_t ttl_ns = call->ttl_s * TIME_NS_PER_S;
        m->now.leases[m->now.n_leases++] =
            (struct lease){ call->lease, ttl_ns, m->now_ns + ttl_ns };
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
        f->listed = copy_of(&m->now);
    else
        change_lease(m, call);
    call->revision = m->now.revision;
}

/* ---- A client's face. ---- */

static const char *copy_key(struct flight *f, int i, const char *key)
{
    snprintf(f->keys[i], STORE_KEY_BYTES, "%s", key);
    return f->keys[i];
}

static struct view copy_value(struct flight *f, int i, struct view value)
{
    CHECK(value.n <= VALUE_BYTES);
    if (value.n > 0)
        memcpy(f->values[i], value.at, value.n);
    return view_of(f->values[i], value.n);
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
}

/* Points the client's entries at content that stays until its next poll. */
static int show(struct client *c, const struct content *content, const char *prefix)
{
    int n = 0;
    if (content != &c->told)
        c->told = *content;
    for (int i = 0; i < c->told.n_keys; i++) {
        const struct key *key = &c->told.keys[i];
        if (strncmp(key->key, prefix, strlen(prefix)) == 0)
            c->entries[n++] = (struct store_entry){ key->key, view_of(key->value, key->n),
                                                    key->created, key->changed };
    }
    return n;
}

static void end_flight(struct client *c, int i)
{
    mem_give(c->flights[i]->listed);
    mem_give(c->flights[i]);
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
        call->entries = c->entries;
        call->n_entries = !is_unsure && f->listed != NULL ? show(c, f->listed, f->done.prefix) : 0;
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
    *news = (struct store_news){ .kind = first.kind,
                                 .entries = c->entries,
                                 .revision = first.revision };
    if (first.listed != NULL) {
        news->n_entries = show(c, first.listed, c->prefix);
        mem_give(first.listed);
    } else if (first.kind == STORE_NEWS_PUT || first.kind == STORE_NEWS_DELETED) {
        c->told.keys[0] = first.key;
        c->told.n_keys = 1;
        news->n_entries = show(c, &c->told, c->prefix);
    }
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
    c->news = NULL;
    c->is_open = c->is_watching = false;
}

struct store *store_model_client(struct store_model *m)
{
    struct client *c = NULL;
    for (int i = 0; i < m->n_clients && c == NULL; i++)
        if (!m->clients[i].is_open)
            c = &m->clients[i];
    CHECK(c != NULL || m->n_clients < CLIENTS_MAX);
    if (c == NULL)
        c = &m->clients[m->n_clients++];
    memset(c, 0, sizeof *c);
    c->model = m;
    c->is_open = true;
    c->news = mem_take(NEWS_MAX * sizeof(*c->news));
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
        *next_ns = min_i64(*next_ns, f->is_made ? f->end_ns : min_i64(f->made_ns, f->end_ns));
    }
    if (c->is_watching && c->wants_list && is_there)
        list_anew(c);
    if (c->n_news > 0)
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
        if (m->clients[i].is_open)
            step_client(&m->clients[i], &next_ns);
    for (int i = 0; i < m->now.n_leases && !m->is_stopped; i++)
        next_ns = min_i64(next_ns, m->now.leases[i].end_ns);
    return max_i64(next_ns, now_ns + 1);
}

/* ---- Faults. ---- */

void store_model_cut(struct store *client, bool is_cut)
{
    struct client *c = client->self;
    c->is_cut = is_cut;
}

void store_model_lose(struct store_model *m, double loss)
{
    m->options.loss = loss;
}

void store_model_stop(struct store_model *m)
{
    m->is_stopped = true;
}

void store_model_start(struct store_model *m)
{
    m->is_stopped = false;
    for (int i = 0; i < m->now.n_leases; i++)
        m->now.leases[i].end_ns = m->now_ns + m->now.leases[i].ttl_ns;
}

void store_model_save(struct store_model *m)
{
    m->saved = m->now;
}

static void lose_history(struct store_model *m)
{
    for (int i = 0; i < m->n_clients; i++)
        m->clients[i].wants_list = m->clients[i].has_gone_back = true;
    store_model_start(m);
}

void store_model_restore(struct store_model *m)
{
    m->now = m->saved;
    lose_history(m);
}

void store_model_wipe(struct store_model *m)
{
    m->now = (struct content){ 0 };
    lose_history(m);
}

struct view store_model_value(const struct store_model *m, const char *key)
{
    for (int i = 0; i < m->now.n_keys; i++)
        if (strcmp(m->now.keys[i].key, key) == 0)
            return view_of(m->now.keys[i].value, m->now.keys[i].n);
    return view_of(NULL, 0);
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
    for (int i = 0; i < m->n_clients; i++)
        CHECK(!m->clients[i].is_open);
    mem_give(m);
}
