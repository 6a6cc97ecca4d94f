/* The face of the store: hands calls to the client's thread, and its news to the caller. */
#include "etcd/etcd.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "etcd/body.h"
#include "etcd/state.h"
#include <stdio.h>
#include <string.h>

/* ---- Calls. ---- */

static void begin(void *self, struct store_call *call)
{
    struct etcd_client *c = self;
    struct etcd_job *job = mem_take(sizeof *job);
    call->end = STORE_IN_FLIGHT;
    *job = (struct etcd_job){ .call = call,
                              .kind = call->kind,
                              .timeout_ns = call->timeout_ns,
                              .deadline_ns = time_now_ns() + call->timeout_ns };
    str_init(&job->body);
    str_init(&job->reply);
    job->path = etcd_body_of_call(call, &job->body);
    lock_take(c->lock);
    *c->inbox_end = job;
    c->inbox_end = &job->next;
    lock_put(c->lock);
    curl_multi_wakeup(c->multi);
}

static void forget(void *self, struct store_call *call)
{
    struct etcd_client *c = self;
    lock_take(c->lock);
    for (struct etcd_job *job = c->inbox; job != NULL; job = job->next)
        if (job->call == call)
            job->call = NULL;
    for (struct etcd_job *job = c->jobs; job != NULL; job = job->next)
        if (job->call == call)
            job->call = NULL;
    for (struct etcd_news *news = c->outbox; news != NULL; news = news->next)
        if (news->job != NULL && news->job->call == call)
            news->job->call = NULL;
    lock_put(c->lock);
}

static void watch(void *self, const char *prefix)
{
    struct etcd_client *c = self;
    CHECK(prefix[0] != '\0' && strlen(prefix) < sizeof c->wanted_prefix);
    lock_take(c->lock);
    snprintf(c->wanted_prefix, sizeof c->wanted_prefix, "%s", prefix);
    lock_put(c->lock);
    curl_multi_wakeup(c->multi);
}

/* ---- News. ---- */

static void free_news(struct etcd_news *news)
{
    if (news == NULL)
        return;
    if (news->job != NULL)
        etcd_transfers_free_job(news->job);
    mem_give(news->entries);
    mem_give(news);
}

static struct etcd_news *take_news(struct etcd_client *c)
{
    lock_take(c->lock);
    struct etcd_news *news = c->outbox;
    if (news != NULL) {
        c->outbox = news->next;
        if (c->outbox == NULL)
            c->outbox_end = &c->outbox;
    } else {
        wake_clear(&c->wake);
    }
    lock_put(c->lock);
    return news;
}

static void end_call(struct store_call *call, const struct etcd_answer *answer)
{
    call->end = answer->end;
    call->is_made = answer->is_made;
    call->has_lease = answer->has_lease;
    if (answer->end == STORE_DONE && (call->kind == STORE_GRANT || call->kind == STORE_KEEP))
        call->ttl_s = answer->ttl_s;
    call->revision = answer->head.revision;
    call->entries = answer->entries;
    call->n_entries = answer->n_entries;
    call->fault = answer->fault;
}

static bool poll(void *self, struct store_news *out)
{
    struct etcd_client *c = self;
    free_news(c->shown);
    c->shown = take_news(c);
    while (c->shown != NULL && c->shown->kind == STORE_NEWS_CALL && c->shown->job->call == NULL) {
        free_news(c->shown);
        c->shown = take_news(c);
    }
    const struct etcd_news *news = c->shown;
    if (news == NULL)
        return false;
    *out = (struct store_news){ .kind = news->kind,
                                .n_entries = news->n_entries,
                                .entries = news->entries,
                                .revision = news->revision };
    if (news->job != NULL) {
        out->call = news->job->call;
        end_call(out->call, &news->job->answer);
    }
    return true;
}

static int wait_fd(void *self)
{
    return ((struct etcd_client *)self)->wake.fd;
}

/* ---- Life. ---- */

static void close_client(void *self)
{
    struct etcd_client *c = self;
    if (c->thread != NULL) {
        atomic_store(&c->is_ending, true);
        curl_multi_wakeup(c->multi);
        thread_join(c->thread);
    }
    for (struct etcd_job *job = c->inbox, *next; job != NULL; job = next) {
        next = job->next;
        etcd_transfers_free_job(job);
    }
    for (struct etcd_news *news; (news = take_news(c)) != NULL;)
        free_news(news);
    free_news(c->shown);
    curl_multi_cleanup(c->multi);
    for (int i = 0; i < c->n_endpoints; i++)
        mem_give(c->endpoints[i]);
    mem_give(c->cert);
    mem_give(c->key);
    mem_give(c->ca);
    wake_close(&c->wake);
    lock_close(c->lock);
    mem_give(c);
}

enum status etcd_check_endpoint(const char *endpoint, struct fault *fault)
{
    struct view text = view_text(endpoint);
    bool is_secure = view_starts(text, "https://");
    const char *host = endpoint + (is_secure ? 8 : 7);
    int64_t port = 0;
    if (is_secure || view_starts(text, "http://")) {
        const char *colon = strrchr(host, ':');
        if (colon != NULL && colon > host && strpbrk(host, "/?#@ ") == NULL &&
            parse_i64(colon + 1, &port) && port > 0 && port <= UINT16_MAX)
            return STATUS_OK;
    }
    return fault_set(fault, STATUS_BAD_INPUT,
                     "\"%.120s\" is not an endpoint of etcd: write http://HOST:PORT or "
                     "https://HOST:PORT",
                     endpoint);
}

static enum status check(const struct etcd_options *o, struct fault *fault)
{
    int n_files = (o->cert != NULL) + (o->key != NULL) + (o->ca != NULL);
    enum status status = STATUS_OK;
    if (o->n_endpoints < 1 || o->n_endpoints > ETCD_ENDPOINTS_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "etcd: give 1 to %d endpoints",
                         (int)ETCD_ENDPOINTS_MAX);
    if (n_files != 0 && n_files != 3)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "etcd: certificate, its key and the authority come together");
    for (int i = 0; i < o->n_endpoints && status == STATUS_OK; i++) {
        status = etcd_check_endpoint(o->endpoints[i], fault);
        if (status == STATUS_OK &&
            (n_files == 3) != view_starts(view_text(o->endpoints[i]), "https://"))
            status = fault_set(fault, STATUS_BAD_INPUT,
                               "etcd: %.120s: endpoints are https with certificates, and http "
                               "without",
                               o->endpoints[i]);
    }
    return status;
}

static char *copy_of(const char *text)
{
    return text != NULL ? mem_copy_text(text) : NULL;
}

struct store *etcd_open(const struct etcd_options *options, struct fault *fault)
{
    if (check(options, fault) != STATUS_OK)
        return NULL;
    struct etcd_client *c = mem_take(sizeof *c);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    for (; c->n_endpoints < options->n_endpoints; c->n_endpoints++)
        c->endpoints[c->n_endpoints] = mem_copy_text(options->endpoints[c->n_endpoints]);
    c->cert = copy_of(options->cert);
    c->key = copy_of(options->key);
    c->ca = copy_of(options->ca);
    c->silence_ns = options->silence_ns > 0 ? options->silence_ns : 3 * TIME_NS_PER_S;
    c->lock = lock_open();
    c->inbox_end = &c->inbox;
    c->outbox_end = &c->outbox;
    wake_open(&c->wake);
    c->multi = curl_multi_init();
    mem_need(c->multi != NULL);
    c->face = (struct store){ c, begin, forget, watch, poll, wait_fd, close_client };
    c->thread = thread_start("etcd", etcd_transfers_run, c);
    return &c->face;
}
