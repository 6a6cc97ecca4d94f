/* Makes the calls over HTTP, on the client's thread. */
#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "etcd/state.h"
#include <stdio.h>
#include <string.h>

static const int64_t AGAIN_NS = 50 * TIME_NS_PER_MS; /* after all endpoints have failed */
static const int64_t POLL_NS_MAX = TIME_NS_PER_S;

/* ---- One transfer. ---- */

CURL *etcd_transfers_open(const struct etcd_client *c, int endpoint, const char *path,
                          const struct str *body, struct curl_slist **headers)
{
    char url[512];
    CURL *easy = curl_easy_init();
    mem_need(easy != NULL);
    snprintf(url, sizeof url, "%s%s", c->endpoints[endpoint], path);
    /* An empty Expect keeps curl from waiting before it sends a long body. */
    *headers = curl_slist_append(NULL, "Content-Type: application/json");
    *headers = curl_slist_append(*headers, "Expect:");
    /* A watch at a server without a leader ends instead of staying silent. */
    *headers = curl_slist_append(*headers, "Grpc-Metadata-hasleader: true");
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->n);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body->at);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    if (c->ca != NULL) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, c->ca);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        curl_easy_setopt(easy, CURLOPT_SSLCERT, c->cert);
        curl_easy_setopt(easy, CURLOPT_SSLKEY, c->key);
    }
    return easy;
}

static size_t on_reply(char *bytes, size_t size, size_t n, void *self)
{
    struct etcd_job *job = self;
    if (job->reply.n + size * n > ETCD_REPLY_BYTES_MAX)
        return 0; /* which ends the transfer */
    str_add(&job->reply, bytes, size * n);
    return size * n;
}

void etcd_transfers_free_job(struct etcd_job *job)
{
    curl_slist_free_all(job->headers);
    str_free(&job->body);
    str_free(&job->reply);
    mem_give(job->answer.entries);
    mem_give(job);
}

void etcd_transfers_say(struct etcd_client *c, struct etcd_news *news)
{
    lock_take(c->lock);
    *c->outbox_end = news;
    c->outbox_end = &news->next;
    lock_put(c->lock);
    wake_up(&c->wake);
}

/* ---- Jobs. ---- */

static void send_job(struct etcd_client *c, struct etcd_job *job, int64_t now_ns)
{
    bool has_others = c->n_endpoints > 1;
    int64_t left_ns = max_i64(job->deadline_ns - now_ns, TIME_NS_PER_MS);
    int64_t part_ns = has_others ? min_i64(left_ns, max_i64(job->timeout_ns / 2, 1)) : left_ns;
    bool may_repeat = job->kind == STORE_LIST || job->kind == STORE_KEEP;
    job->endpoint = c->endpoint;
    job->n_tries++;
    job->reply.n = 0;
    job->easy = etcd_transfers_open(c, job->endpoint, job->path, &job->body, &job->headers);
    curl_easy_setopt(job->easy, CURLOPT_WRITEFUNCTION, on_reply);
    curl_easy_setopt(job->easy, CURLOPT_WRITEDATA, job);
    curl_easy_setopt(job->easy, CURLOPT_PRIVATE, job);
    curl_easy_setopt(job->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(part_ns / TIME_NS_PER_MS) + 1);
    curl_easy_setopt(job->easy, CURLOPT_TIMEOUT_MS,
                     (long)((may_repeat ? part_ns : left_ns) / TIME_NS_PER_MS) + 1);
    mem_need(curl_multi_add_handle(c->multi, job->easy) == CURLM_OK);
}

void etcd_transfers_start(struct etcd_client *c, struct etcd_job *job)
{
    lock_take(c->lock);
    job->next = c->jobs;
    c->jobs = job;
    lock_put(c->lock);
    send_job(c, job, time_now_ns());
}

/* Takes the job out of the list, and its end becomes news in the same instant, so that forget finds
 * the job at any time. */
static void end_job(struct etcd_client *c, struct etcd_job *job)
{
    struct etcd_job **at = &c->jobs;
    struct etcd_news *news = job->is_of_watch ? NULL : mem_take(sizeof *news);
    lock_take(c->lock);
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job->next = NULL;
    if (news != NULL) {
        *news = (struct etcd_news){ .kind = STORE_NEWS_CALL, .job = job };
        *c->outbox_end = news;
        c->outbox_end = &news->next;
    }
    lock_put(c->lock);
    if (news != NULL)
        wake_up(&c->wake);
    else
        etcd_stream_listed(c, job);
}

static void release_easy(struct etcd_client *c, struct etcd_job *job)
{
    curl_multi_remove_handle(c->multi, job->easy);
    curl_easy_cleanup(job->easy);
    curl_slist_free_all(job->headers);
    job->easy = NULL;
    job->headers = NULL;
}

/* The transfer brought no whole reply. Returns whether the request may have reached a server. */
static bool may_have_arrived(CURL *easy, CURLcode code)
{
    curl_off_t sent_us = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
    return sent_us > 0 && code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST &&
           code != CURLE_SSL_CONNECT_ERROR && code != CURLE_PEER_FAILED_VERIFICATION;
}

static bool wants_repeat(const struct etcd_client *c, const struct etcd_job *job, int64_t now_ns)
{
    bool is_harmless = job->kind == STORE_LIST || job->kind == STORE_KEEP || !job->was_sent;
    return is_harmless && now_ns + AGAIN_NS < job->deadline_ns &&
           (job->n_tries < c->n_endpoints || job->kind == STORE_KEEP);
}

static void take_end(struct etcd_client *c, struct etcd_job *job, CURLcode code)
{
    long http_status = 0;
    int64_t now_ns = time_now_ns();
    if (code == CURLE_OK) {
        (void)curl_easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &http_status);
        mem_give(job->answer.entries);
        etcd_answer_read(job->kind, http_status,
                         view_of(job->reply.at != NULL ? job->reply.at : "", job->reply.n),
                         &job->answer);
        job->was_sent = true;
    } else {
        job->was_sent = job->was_sent || may_have_arrived(job->easy, code);
        job->answer = (struct etcd_answer){ .end = job->was_sent ? STORE_UNSURE : STORE_UNREACHED };
        fault_set(&job->answer.fault, STATUS_IO, "etcd: %.100s: %.100s",
                  c->endpoints[job->endpoint], curl_easy_strerror(code));
    }
    release_easy(c, job);
    bool is_answered = job->answer.end == STORE_DONE || job->answer.end == STORE_REFUSED;
    if (!is_answered && c->endpoint == job->endpoint)
        c->endpoint = (c->endpoint + 1) % c->n_endpoints;
    if (!is_answered && (job->kind == STORE_LIST || job->kind == STORE_KEEP))
        job->answer.end = STORE_UNREACHED; /* nothing has changed */
    if (is_answered || !wants_repeat(c, job, now_ns))
        end_job(c, job);
    else
        job->again_ns = now_ns + (job->n_tries % c->n_endpoints == 0 ? AGAIN_NS : 0);
}

/* ---- The thread. ---- */

static void take_orders(struct etcd_client *c)
{
    char prefix[STORE_KEY_BYTES];
    lock_take(c->lock);
    struct etcd_job *job = c->inbox;
    c->inbox = NULL;
    c->inbox_end = &c->inbox;
    memcpy(prefix, c->wanted_prefix, sizeof prefix);
    c->wanted_prefix[0] = '\0';
    /* From here on the jobs are in the other list, so that forget finds them. */
    for (struct etcd_job *at = job, *next; at != NULL; at = next) {
        next = at->next;
        at->next = c->jobs;
        c->jobs = at;
    }
    lock_put(c->lock);
    if (prefix[0] != '\0')
        etcd_stream_begin(c, prefix);
}

/* Sends the jobs that are due. Returns when the next is. */
static int64_t send_due(struct etcd_client *c, int64_t now_ns)
{
    int64_t wake_ns = TIME_NEVER;
    for (struct etcd_job *job = c->jobs; job != NULL; job = job->next) {
        if (job->easy == NULL && job->again_ns <= now_ns)
            send_job(c, job, now_ns);
        else if (job->easy == NULL)
            wake_ns = min_i64(wake_ns, job->again_ns);
    }
    return wake_ns;
}

static void take_ends(struct etcd_client *c)
{
    int n_left;
    for (CURLMsg *message; (message = curl_multi_info_read(c->multi, &n_left)) != NULL;) {
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result;
        struct etcd_job *job = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &job);
        if (job != NULL)
            take_end(c, job, code);
        else
            etcd_stream_ended(c);
    }
}

void etcd_transfers_run(void *self)
{
    struct etcd_client *c = self;
    int n_running;
    while (!atomic_load(&c->is_ending)) {
        int64_t now_ns = time_now_ns();
        take_orders(c);
        int64_t wake_ns = send_due(c, now_ns);
        wake_ns = min_i64(wake_ns, etcd_stream_step(c, now_ns));
        (void)curl_multi_perform(c->multi, &n_running);
        take_ends(c);
        int64_t wait_ns = max_i64(min_i64(wake_ns - now_ns, POLL_NS_MAX), 0);
        (void)curl_multi_poll(c->multi, NULL, 0, (int)(wait_ns / TIME_NS_PER_MS) + 1, NULL);
    }
    etcd_stream_close(c);
    for (struct etcd_job *job = c->jobs, *next; job != NULL; job = next) {
        next = job->next;
        if (job->easy != NULL)
            release_easy(c, job);
        etcd_transfers_free_job(job);
    }
    c->jobs = NULL;
}
