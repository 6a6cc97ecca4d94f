/* A connection's life: dialled or accepted, hello, frames, its end. */
#include "cluster/tcp_end.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cluster/frame.h"
#include "cluster/message.h"
#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <unistd.h>

static const int64_t HELLO_NS_MAX = 5 * TIME_NS_PER_S, SILENCE_NS_MAX = 10 * TIME_NS_PER_S;
static const int64_t BACKOFF_NS_MIN = 100 * TIME_NS_PER_MS, BACKOFF_NS_MAX = 5 * TIME_NS_PER_S;
enum { STUCK_S = 5, STRANGER_BYTES_MAX = 4096 };
/* The longest frame has to fit, or it would never be whole. */
#define IN_BYTES_MAX (2 * MESSAGE_BYTES_MAX)

void cluster_tcp_end_is_ready(struct cluster_tcp_end *end)
{
    struct cluster_tcp_bus *bus = end->bus;
    if (!end->is_ready) {
        uint32_t at = (bus->first_ready + bus->n_ready++) % (uint32_t)bus->n_ends;
        bus->ready[at] = (uint32_t)(end - bus->ends);
        end->is_ready = true;
    }
    if (!bus->is_woken)
        wake_up(&bus->wake);
    bus->is_woken = true;
}

static void wait_again(struct cluster_tcp_end *end)
{
    if (!end->is_dialled || end->n_to == 0) {
        end->state = TCP_END_FREE;
        return;
    }
    int64_t backoff_ns = min_i64(max_i64(2 * end->backoff_ns, BACKOFF_NS_MIN), BACKOFF_NS_MAX);
    end->backoff_ns = backoff_ns;
    end->again_ns =
        time_now_ns() + backoff_ns - (int64_t)rng_below(&end->bus->rng, (uint32_t)backoff_ns / 4);
    end->state = TCP_END_WAITING;
}

void cluster_tcp_end_break(struct cluster_tcp_end *end, const char *why)
{
    bool was_up = end->state == TCP_END_UP;
    if (why != NULL && (was_up || (end->is_dialled && !end->was_told)))
        log_line(LOG_WARN, "bus", "%s: %s", end->text, why);
    else if (why != NULL)
        log_line(LOG_DEBUG, "bus", "%s: %s", end->text, why);
    end->was_told = true;
    if (end->events != NULL)
        bufferevent_free(end->events);
    end->events = NULL;
    if (!was_up) {
        wait_again(end);
        return;
    }
    end->state = TCP_END_OVER;
    cluster_tcp_end_is_ready(end);
}

void cluster_tcp_end_forget(struct cluster_tcp_end *end)
{
    CHECK(end->state == TCP_END_OVER);
    wait_again(end);
}

/* ---- Callbacks of libevent. ---- */

static void expect_hello(struct cluster_tcp_end *end)
{
    struct evbuffer *out = bufferevent_get_output(end->events);
    end->state = TCP_END_HELLO;
    bufferevent_setwatermark(end->events, EV_READ, 0, STRANGER_BYTES_MAX);
    if (!cluster_frame_write_hello(out) || bufferevent_enable(end->events, EV_READ | EV_WRITE) != 0)
        cluster_tcp_end_break(end, "there is no memory for the connection");
}

static void take_hello(struct cluster_tcp_end *end)
{
    uint32_t version;
    char why[128];
    switch (cluster_frame_take_hello(bufferevent_get_input(end->events), &version)) {
    case CLUSTER_FRAME_PARTIAL:
        return;
    case CLUSTER_FRAME_BAD:
        cluster_tcp_end_break(end, "it does not speak Shoal's bus: check the port");
        return;
    default:
        break;
    }
    if (version != MESSAGE_VERSION) {
        snprintf(why, sizeof why,
                 "it speaks version %u of the bus and this process version %d: "
                 "run the same version of Shoal on both",
                 version, MESSAGE_VERSION);
        cluster_tcp_end_break(end, why);
        return;
    }
    const struct timeval stuck = { .tv_sec = STUCK_S };
    bufferevent_set_timeouts(end->events, NULL, &stuck);
    bufferevent_setwatermark(end->events, EV_READ, 0, IN_BYTES_MAX);
    end->state = TCP_END_UP;
    end->deadline_ns = time_now_ns() + SILENCE_NS_MAX;
    end->backoff_ns = 0;
    end->was_told = false;
    log_line(LOG_INFO, "bus", "%s: connected", end->text);
    cluster_tcp_end_is_ready(end); /* the actor opens its session */
}

static void on_readable(struct bufferevent *events, void *self)
{
    struct cluster_tcp_end *end = self;
    (void)events;
    if (end->state == TCP_END_HELLO)
        take_hello(end);
    else if (end->state == TCP_END_UP)
        cluster_tcp_end_is_ready(end);
}

static void on_connected(struct cluster_tcp_end *end)
{
    struct cluster_tcp_bus *bus = end->bus;
    struct ssl_st *tls = bufferevent_openssl_get_ssl(end->events);
    if (tls != NULL && !end->is_dialled &&
        !cluster_tcp_tls_is_known(tls, (const char *const *)bus->names, bus->n_names))
        cluster_tcp_end_break(end, "its certificate has no name that may connect");
    else
        expect_hello(end);
}

static void say_why(struct cluster_tcp_end *end, short what)
{
    char why[256];
    unsigned long error = bufferevent_get_openssl_error(end->events);
    const char *reason = error != 0 ? ERR_reason_error_string(error) : NULL;
    ERR_clear_error();
    if (reason != NULL)
        snprintf(why, sizeof why, "TLS: %s", reason);
    else if (what & BEV_EVENT_TIMEOUT)
        snprintf(why, sizeof why, "it takes nothing for %d s", STUCK_S);
    else if (what & BEV_EVENT_EOF)
        snprintf(why, sizeof why, "it closed the connection");
    else
        snprintf(why, sizeof why, "%s", evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
    cluster_tcp_end_break(end, why);
}

static void on_event(struct bufferevent *events, short what, void *self)
{
    struct cluster_tcp_end *end = self;
    (void)events;
    if ((what & BEV_EVENT_CONNECTED) && end->state == TCP_END_CONNECTING)
        on_connected(end);
    else if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT))
        say_why(end, what);
}

/* ---- Beginning. ---- */

/* fd -1: the socket comes when it connects. */
static bool open_events(struct cluster_tcp_end *end, int fd)
{
    struct cluster_tcp_bus *bus = end->bus;
    int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
    if (bus->tls == NULL) {
        end->events = bufferevent_socket_new(bus->options.base, fd, options);
    } else {
        struct ssl_st *tls = cluster_tcp_tls_new(bus->tls, end->is_dialled ? end->name : NULL);
        enum bufferevent_ssl_state way =
            end->is_dialled ? BUFFEREVENT_SSL_CONNECTING : BUFFEREVENT_SSL_ACCEPTING;
        if (tls != NULL)
            end->events = bufferevent_openssl_socket_new(bus->options.base, fd, tls, way, options);
        if (tls != NULL && end->events == NULL)
            SSL_free(tls);
    }
    if (end->events == NULL)
        return false;
    end->begun_ns = time_now_ns();
    end->deadline_ns = end->begun_ns + HELLO_NS_MAX;
    end->state = TCP_END_CONNECTING;
    bufferevent_setcb(end->events, on_readable, NULL, on_event, end);
    return true;
}

static void send_at_once(struct cluster_tcp_end *end)
{
    int on = 1;
    (void)setsockopt(bufferevent_getfd(end->events), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void cluster_tcp_end_dial(struct cluster_tcp_end *end)
{
    if (!open_events(end, -1)) {
        wait_again(end);
    } else if (bufferevent_socket_connect(end->events, (const struct sockaddr *)&end->to,
                                          (int)end->n_to) != 0) {
        cluster_tcp_end_break(end, "it cannot be reached");
    } else {
        send_at_once(end);
    }
}

void cluster_tcp_end_accept(struct cluster_tcp_end *end, int fd, const char *text)
{
    snprintf(end->text, sizeof end->text, "%s", text);
    if (!open_events(end, fd)) {
        close(fd);
        return;
    }
    send_at_once(end);
    if (end->bus->tls == NULL)
        expect_hello(end);
    else if (bufferevent_enable(end->events, EV_READ | EV_WRITE) != 0)
        cluster_tcp_end_break(end, "there is no memory for the connection");
}

/* ---- Time. ---- */

static bool has_frame(const struct cluster_tcp_end *end)
{
    size_t n;
    return cluster_frame_look(bufferevent_get_input(end->events), &n) != CLUSTER_FRAME_PARTIAL;
}

void cluster_tcp_end_tick(struct cluster_tcp_end *end, int64_t now_ns)
{
    switch (end->state) {
    case TCP_END_WAITING:
        if (end->again_ns <= now_ns)
            cluster_tcp_end_dial(end);
        break;
    case TCP_END_CONNECTING:
    case TCP_END_HELLO:
        if (end->deadline_ns <= now_ns)
            cluster_tcp_end_break(end, "it did not connect in time");
        break;
    case TCP_END_UP:
        if (has_frame(end)) /* the actor is slow, not the peer */
            end->deadline_ns = now_ns + SILENCE_NS_MAX;
        else if (end->deadline_ns <= now_ns)
            cluster_tcp_end_break(end, "it sent no whole message for 10 s");
        break;
    default:
        break;
    }
}
