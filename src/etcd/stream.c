/* Watches the keys under a prefix: a list, then a stream of changes from there on. */
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "etcd/body.h"
#include "etcd/state.h"
#include <stdio.h>
#include <string.h>

static const int64_t LIST_TIMEOUT_NS = 2 * TIME_NS_PER_S;
static const int64_t LIST_AGAIN_NS = 200 * TIME_NS_PER_MS;

static void say(struct etcd_client *c, enum store_news_kind kind, struct store_entry *entries,
                int n_entries, int64_t revision)
{
    struct etcd_news *news = mem_take(sizeof *news);
    *news = (struct etcd_news){
        .kind = kind, .entries = entries, .n_entries = n_entries, .revision = revision
    };
    etcd_transfers_say(c, news);
}

static void say_silent(struct etcd_client *c)
{
    if (!c->watch.is_silent)
        say(c, STORE_NEWS_SILENT, NULL, 0, 0);
    c->watch.is_silent = true;
}

/* ---- The stream. ---- */

static void close_stream(struct etcd_client *c)
{
    struct etcd_watch *w = &c->watch;
    if (w->easy != NULL) {
        curl_multi_remove_handle(c->multi, w->easy);
        curl_easy_cleanup(w->easy);
        curl_slist_free_all(w->headers);
    }
    w->easy = NULL;
    w->headers = NULL;
    w->text.n = 0;
    w->is_over = false;
}

/* Copies one event, for news of its own. */
static struct store_entry *copy_entry(const struct store_entry *entry)
{
    size_t n_key = strlen(entry->key) + 1;
    struct store_entry *copy = mem_take(sizeof *copy + n_key + entry->value.n);
    char *key = (char *)(copy + 1);
    *copy = *entry;
    memcpy(key, entry->key, n_key);
    if (entry->value.n > 0)
        memcpy(key + n_key, entry->value.at, entry->value.n);
    copy->key = key;
    copy->value.at = key + n_key;
    return copy;
}

static void take_events(struct etcd_client *c, const struct etcd_line *line)
{
    struct etcd_watch *w = &c->watch;
    int64_t seen = w->seen_revision;
    for (int i = 0; i < line->n_events; i++) {
        const struct store_entry *entry = &line->entries[i];
        if (entry->changed <= w->seen_revision)
            continue; /* the list had it */
        say(c, line->are_deleted[i] ? STORE_NEWS_DELETED : STORE_NEWS_PUT, copy_entry(entry), 1,
            entry->changed);
        seen = max_i64(seen, entry->changed);
        w->listed = 0;
    }
    w->seen_revision = seen;
}

static void take_line(struct etcd_client *c, struct view text)
{
    struct etcd_watch *w = &c->watch;
    struct etcd_line line;
    etcd_answer_read_line(text, &line);
    /* A stream that begins behind the list is of a store that lost history, or of a server that
     * lags. A list tells which. */
    bool is_behind = line.is_created && line.head.revision < w->seen_revision;
    if (line.is_over || is_behind)
        w->is_over = true;
    else
        take_events(c, &line);
    mem_give(line.entries);
    w->list_ns = time_now_ns() + c->silence_ns;
}

/* Called by curl, so it starts and ends no transfer. */
static size_t on_stream(char *bytes, size_t size, size_t n, void *self)
{
    struct etcd_client *c = self;
    struct etcd_watch *w = &c->watch;
    const char *end;
    size_t n_bytes = size * n;
    if (w->is_over || w->text.n + n_bytes > ETCD_REPLY_BYTES_MAX)
        return 0;
    str_add(&w->text, bytes, n_bytes);
    while (w->text.n > 0 && !w->is_over && (end = memchr(w->text.at, '\n', w->text.n)) != NULL) {
        size_t n_line = (size_t)(end - w->text.at);
        take_line(c, view_of(w->text.at, n_line));
        memmove(w->text.at, w->text.at + n_line + 1, w->text.n - n_line - 1);
        w->text.n -= n_line + 1;
    }
    return n_bytes;
}

static void open_stream(struct etcd_client *c)
{
    struct etcd_watch *w = &c->watch;
    str_clear(&w->body);
    const char *path = etcd_body_of_watch(w->prefix, w->seen_revision + 1, &w->body);
    w->endpoint = c->endpoint;
    w->easy = etcd_transfers_open(c, w->endpoint, path, &w->body, &w->headers);
    curl_easy_setopt(w->easy, CURLOPT_WRITEFUNCTION, on_stream);
    curl_easy_setopt(w->easy, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(w->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(LIST_TIMEOUT_NS / TIME_NS_PER_MS));
    curl_easy_setopt(w->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    mem_need(curl_multi_add_handle(c->multi, w->easy) == CURLM_OK);
    w->state = ETCD_WATCH_OPEN;
}

/* ---- The list. ---- */

static void begin_list(struct etcd_client *c, int64_t now_ns)
{
    struct etcd_watch *w = &c->watch;
    struct etcd_job *job = mem_take(sizeof *job);
    const struct store_call call = { .kind = STORE_LIST, .prefix = w->prefix };
    *job = (struct etcd_job){ .kind = STORE_LIST,
                              .is_of_watch = true,
                              .timeout_ns = LIST_TIMEOUT_NS,
                              .deadline_ns = now_ns + LIST_TIMEOUT_NS };
    str_init(&job->body);
    str_init(&job->reply);
    job->path = etcd_body_of_call(&call, &job->body);
    w->is_list_under_way = true;
    etcd_transfers_start(c, job);
}

static uint64_t hash_of(const struct etcd_answer *answer)
{
    uint64_t hash = 1;
    for (int i = 0; i < answer->n_entries; i++) {
        const struct store_entry *entry = &answer->entries[i];
        hash = hash_fast(entry->key, strlen(entry->key), hash).low;
        hash = hash_fast(&entry->changed, sizeof entry->changed, hash).low;
    }
    return hash | 1;
}

static bool is_back(const struct etcd_head *seen, const struct etcd_head *now)
{
    return seen->cluster != 0 && (now->revision < seen->revision || now->term < seen->term ||
                                  now->cluster != seen->cluster);
}

/* All keys anew, and a stream from there on. */
static void begin_anew(struct etcd_client *c, struct etcd_answer *answer)
{
    struct etcd_watch *w = &c->watch;
    close_stream(c);
    if (is_back(&w->seen, &answer->head)) {
        log_line(LOG_WARN, "etcd", "the store lost its history, or is another one");
        say(c, STORE_NEWS_BACK, NULL, 0, answer->head.revision);
    }
    say(c, STORE_NEWS_LISTED, answer->entries, answer->n_entries, answer->head.revision);
    answer->entries = NULL;
    w->is_silent = false;
    w->seen_revision = answer->head.revision;
    open_stream(c);
}

void etcd_stream_listed(struct etcd_client *c, struct etcd_job *job)
{
    struct etcd_watch *w = &c->watch;
    struct etcd_answer *answer = &job->answer;
    int64_t now_ns = time_now_ns();
    w->is_list_under_way = false;
    w->list_ns = now_ns + c->silence_ns;
    if (answer->end != STORE_DONE) {
        close_stream(c);
        w->state = ETCD_WATCH_LISTING;
        w->list_ns = now_ns + LIST_AGAIN_NS;
        say_silent(c);
    } else {
        bool is_open = w->state == ETCD_WATCH_OPEN && !w->is_over;
        bool is_same = w->listed != 0 && w->listed == hash_of(answer);
        /* The stream told of later changes than the list, so it is well. */
        bool is_late = is_open && answer->head.revision < w->seen_revision &&
                       !is_back(&w->seen, &answer->head);
        if (!is_open || (!is_same && !is_late) || is_back(&w->seen, &answer->head)) {
            w->listed = hash_of(answer);
            begin_anew(c, answer);
        }
        w->seen = answer->head;
    }
    etcd_transfers_free_job(job);
}

/* ---- Its life. ---- */

void etcd_stream_begin(struct etcd_client *c, const char *prefix)
{
    struct etcd_watch *w = &c->watch;
    close_stream(c);
    snprintf(w->prefix, sizeof w->prefix, "%s", prefix);
    w->state = ETCD_WATCH_LISTING;
    w->list_ns = 0;
}

void etcd_stream_ended(struct etcd_client *c)
{
    struct etcd_watch *w = &c->watch;
    if (c->endpoint == w->endpoint && !w->is_over)
        c->endpoint = (c->endpoint + 1) % c->n_endpoints;
    close_stream(c);
    w->state = ETCD_WATCH_LISTING;
    w->list_ns = 0; /* at once */
}

int64_t etcd_stream_step(struct etcd_client *c, int64_t now_ns)
{
    struct etcd_watch *w = &c->watch;
    if (w->state == ETCD_WATCH_NONE)
        return TIME_NEVER;
    if (w->is_over)
        etcd_stream_ended(c);
    if (!w->is_list_under_way && w->list_ns <= now_ns)
        begin_list(c, now_ns);
    return w->is_list_under_way ? TIME_NEVER : w->list_ns;
}

void etcd_stream_close(struct etcd_client *c)
{
    close_stream(c);
    str_free(&c->watch.body);
    str_free(&c->watch.text);
}
