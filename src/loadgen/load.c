/* The loop: it starts calls that are due, waits for sockets or the next due time, and lets libcurl
 * work. */
#include "loadgen/load.h"

#include "base/mem.h"
#include "base/time.h"
#include "loadgen/answer.h"
#include "loadgen/client.h"
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EVENTS_MAX = 256, CONNECTIONS_KEPT = 4096, PROGRESS_MS = 100 };

struct slot { /* a request under way */
    struct loop *loop;
    CURL *easy;
    struct str body;
    struct loadgen_answer answer;
    size_t call;
    bool is_used;
};
struct loop {
    const struct loadgen_load *load;
    struct loadgen_call *calls;
    size_t n, n_started, n_over, n_now, n_now_max;
    size_t n_refused; /* failed connections in a row */
    bool was_reached;
    CURLcode why_not;    /* of the last failed connection */
    struct slot **slots; /* each taken alone: libcurl keeps their addresses */
    size_t n_slots;
    CURLM *multi;
    int epoll;
    int64_t begin_ns, timer_ns, progress_ns; /* timer: when libcurl wants a call */
    struct curl_slist *headers;
    struct str next_body; /* of the call that starts next */
    bool has_next_body;
};

static int64_t now(const struct loop *loop)
{
    return time_now_ns() - loop->begin_ns;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *self, void *known)
{
    struct loop *loop = self;
    struct epoll_event event = { .data.fd = fd };
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    if ((what & CURL_POLL_IN) != 0)
        event.events |= EPOLLIN;
    if ((what & CURL_POLL_OUT) != 0)
        event.events |= EPOLLOUT;
    epoll_ctl(loop->epoll, known != NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
    curl_multi_assign(loop->multi, fd, loop);
    return 0;
}

static int set_timer(CURLM *multi, long timeout_ms, void *self)
{
    struct loop *loop = self;
    (void)multi;
    loop->timer_ns = timeout_ms < 0 ? TIME_NEVER : now(loop) + timeout_ms * TIME_NS_PER_MS;
    return 0;
}

static size_t take_bytes(char *bytes, size_t size, size_t n, void *self)
{
    struct slot *slot = self;
    long status = 0;
    const char *type = NULL;
    curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(slot->easy, CURLINFO_CONTENT_TYPE, &type);
    bool is_stream = status == 200 && type != NULL && strncmp(type, "text/event-stream", 17) == 0;
    slot->answer.now_ns = now(slot->loop);
    loadgen_answer_feed(&slot->answer, is_stream, bytes, size * n);
    return size * n;
}

static struct slot *free_slot(struct loop *loop)
{
    for (size_t i = 0; i < loop->n_slots; i++)
        if (!loop->slots[i]->is_used)
            return loop->slots[i];
    size_t old = loop->n_slots * sizeof(*loop->slots);
    loop->slots = mem_grow(loop->slots, old, old + sizeof(*loop->slots));
    struct slot *slot = mem_take(sizeof(*slot));
    slot->loop = loop;
    slot->easy = curl_easy_init();
    mem_need(slot->easy != NULL);
    loop->slots[loop->n_slots++] = slot;
    return slot;
}

static void prepare(struct loop *loop)
{
    if (loop->has_next_body || loop->n_started == loop->n)
        return;
    str_init(&loop->next_body);
    loop->load->body(loop->load->self, loop->n_started, &loop->next_body);
    loop->has_next_body = true;
}

static void start(struct loop *loop)
{
    struct slot *slot = free_slot(loop);
    prepare(loop);
    slot->body = loop->next_body;
    loop->has_next_body = false;
    slot->call = loop->n_started++;
    slot->is_used = true;
    loadgen_answer_init(&slot->answer);
    slot->answer.gaps = loop->load->gaps;
    CURL *easy = slot->easy;
    curl_easy_reset(easy);
    mem_need(curl_easy_setopt(easy, CURLOPT_URL, loop->load->url) == CURLE_OK);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, loop->headers);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    client_trust(loop->load->client, easy);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)slot->body.n);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, slot->body.at);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, slot);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(loop->load->timeout_ns / TIME_NS_PER_MS));
    struct record *record = &loop->calls[slot->call].record;
    int64_t now_ns = now(loop);
    if (loop->load->n_at_once > 0)
        record->arrived_ns = now_ns;
    record->late_ns = max_i64(now_ns - record->arrived_ns, 0);
    record->engine = UINT16_MAX;
    record->n_slices = 1;
    loop->n_now++;
    loop->n_now_max = loop->n_now > loop->n_now_max ? loop->n_now : loop->n_now_max;
    mem_need(curl_multi_add_handle(loop->multi, easy) == CURLM_OK); /* else it never ends */
}

static bool is_refusal(CURLcode result)
{
    return result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST ||
           result == CURLE_SSL_CONNECT_ERROR || result == CURLE_PEER_FAILED_VERIFICATION ||
           result == CURLE_SSL_CACERT_BADFILE;
}

static void finish(struct loop *loop, struct slot *slot, CURLcode result)
{
    struct loadgen_call *call = &loop->calls[slot->call];
    struct loadgen_end end = {
        .transport = result != CURLE_OK ? curl_easy_strerror(result) : NULL,
        .n_wanted = call->record.n_wanted,
        .may_stop_early = loop->load->may_stop_early,
        .ends_by_stop = loop->load->ends_by_stop,
    };
    curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &end.http_status);
    call->record.end_ns = now(loop);
    loadgen_answer_judge(&slot->answer, &end, &call->record);
    if (slot->answer.n_prompt_tokens >= 0)
        call->record.n_prompt = slot->answer.n_prompt_tokens;
    call->text_hash = slot->answer.text_hash;
    if (slot->answer.wrong[0] != '\0')
        call->wrong = mem_copy_text(slot->answer.wrong);
    curl_multi_remove_handle(loop->multi, slot->easy);
    loadgen_answer_free(&slot->answer);
    str_free(&slot->body);
    slot->is_used = false;
    loop->n_now--;
    loop->n_over++;
    bool is_refused = is_refusal(result);
    loop->why_not = is_refused ? result : loop->why_not;
    loop->was_reached = loop->was_reached || !is_refused;
    loop->n_refused = is_refused ? loop->n_refused + 1 : 0;
    if (loop->n_refused >= (loop->was_reached ? LOADGEN_REFUSED_MAX : 1))
        loop->n = loop->n_started; /* calls in flight still end; a draining server refuses too */
}

static void collect(struct loop *loop)
{
    CURLMsg *message;
    int n_left;
    while ((message = curl_multi_info_read(loop->multi, &n_left)) != NULL) {
        struct slot *slot = NULL;
        CURLcode result = message->data.result;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
        finish(loop, slot, result);
    }
}

static bool is_due(const struct loop *loop)
{
    if (loop->n_started == loop->n)
        return false;
    if (loop->load->n_at_once > 0)
        return loop->n_now < (size_t)loop->load->n_at_once;
    return loop->calls[loop->n_started].record.arrived_ns <= now(loop);
}

/* Returns the milliseconds until something is due, rounded down, so that the last one is spent
 * polling. */
static int wait_ms(const struct loop *loop)
{
    int64_t next_ns = loop->timer_ns, now_ns = now(loop);
    if (loop->n_started < loop->n && loop->load->n_at_once == 0)
        next_ns = min_i64(next_ns, loop->calls[loop->n_started].record.arrived_ns);
    if (loop->load->progress != NULL)
        next_ns = min_i64(next_ns, loop->progress_ns);
    if (next_ns <= now_ns)
        return 0;
    return (int)min_i64((next_ns - now_ns) / TIME_NS_PER_MS, 1000);
}

static void wait_and_work(struct loop *loop)
{
    struct epoll_event events[EVENTS_MAX];
    int n_running;
    int n = epoll_wait(loop->epoll, events, EVENTS_MAX, wait_ms(loop));
    for (int i = 0; i < n; i++) {
        int what = ((events[i].events & (EPOLLIN | EPOLLHUP)) != 0 ? CURL_CSELECT_IN : 0) |
                   ((events[i].events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                   ((events[i].events & EPOLLERR) != 0 ? CURL_CSELECT_ERR : 0);
        mem_need(curl_multi_socket_action(loop->multi, events[i].data.fd, what, &n_running) !=
                 CURLM_OUT_OF_MEMORY);
    }
    if (loop->timer_ns <= now(loop)) {
        loop->timer_ns = TIME_NEVER;
        mem_need(curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &n_running) !=
                 CURLM_OUT_OF_MEMORY);
    }
    collect(loop);
    if (loop->load->progress != NULL && loop->progress_ns <= now(loop)) {
        loop->progress_ns = now(loop) + PROGRESS_MS * TIME_NS_PER_MS;
        loop->load->progress(loop->load->self, loop->n_over, loop->n);
    }
}

static void open_loop(struct loop *loop)
{
    char key[600];
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    loop->headers = client_header(NULL, "Content-Type: application/json");
    loop->headers = client_header(loop->headers, "Expect:");
    if (loop->load->client->key != NULL) {
        snprintf(key, sizeof(key), "Authorization: Bearer %.500s", loop->load->client->key);
        loop->headers = client_header(loop->headers, key);
    }
    loop->multi = curl_multi_init();
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    mem_need(loop->multi != NULL);
    if (loop->epoll < 0)
        base_refuse("the system gives no descriptor to wait for answers with: %s (ulimit -n)",
                    strerror(errno));
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT);
}

static void close_loop(struct loop *loop)
{
    for (size_t i = 0; i < loop->n_slots; i++) {
        curl_easy_cleanup(loop->slots[i]->easy);
        mem_give(loop->slots[i]);
    }
    mem_give(loop->slots);
    curl_multi_cleanup(loop->multi);
    curl_slist_free_all(loop->headers);
    if (loop->has_next_body)
        str_free(&loop->next_body);
    close(loop->epoll);
}

struct loadgen_ran loadgen_load_run(const struct loadgen_load *load, struct loadgen_call *calls,
                                    size_t n)
{
    struct loop loop = { .load = load, .calls = calls, .n = n, .timer_ns = TIME_NEVER };
    open_loop(&loop);
    prepare(&loop);
    loop.begin_ns = time_now_ns();
    while (loop.n_over < loop.n) {
        while (is_due(&loop))
            start(&loop);
        prepare(&loop);
        wait_and_work(&loop);
    }
    close_loop(&loop);
    return (struct loadgen_ran){ loop.n_started, loop.n_now_max, loop.was_reached,
                                 (int)loop.why_not };
}
