/* A bulk connection's life: joined, dialled or accepted, hello, frames, its end. */
#include "bulk/state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t HELLO_NS_MAX = 5 * TIME_NS_PER_S;
static const int64_t IDLE_NS_DIALLED = 60 * TIME_NS_PER_S, IDLE_NS_ACCEPTED = 120 * TIME_NS_PER_S;
enum { STUCK_S = 5, STRANGER_BYTES_MAX = 4096, READ_BYTES_USUAL = 256 << 10 };

static bool is_network(const struct bulk_end *end)
{
    return end->kind == BULK_DIALS || end->kind == BULK_ACCEPTS;
}

void bulk_end_break(struct bulk_end *end, const char *why)
{
    bool is_news = end->state == BULK_UP && is_network(end);
    if (end->state == BULK_FREE)
        return;
    if (why != NULL)
        log_line(is_news ? LOG_WARN : LOG_DEBUG, "bulk", "%s: %s", end->text, why);
    end->state = BULK_FREE;
    if (end->events != NULL)
        bufferevent_free(end->events);
    if (end->waiting != NULL)
        evbuffer_free(end->waiting);
    end->events = NULL;
    end->waiting = NULL;
    end->n_pending = 0;
    bulk_relay_lose(end);
}

struct evbuffer *bulk_end_out(struct bulk_end *end)
{
    if (end->state == BULK_FREE)
        return NULL;
    return end->state == BULK_UP ? bufferevent_get_output(end->events) : end->waiting;
}

/* ---- Callbacks of libevent. ---- */

static void expect_hello(struct bulk_end *end)
{
    end->state = BULK_HELLO;
    bufferevent_setwatermark(end->events, EV_READ, 0, STRANGER_BYTES_MAX);
    if (!bulk_frame_write_hello(bufferevent_get_output(end->events)) ||
        bufferevent_enable(end->events, EV_READ | EV_WRITE) != 0)
        bulk_end_break(end, "there is no memory for the connection");
}

/* Returns whether frames may follow. */
static bool take_hello(struct bulk_end *end)
{
    uint32_t version;
    enum cluster_frame_found found =
        bulk_frame_take_hello(bufferevent_get_input(end->events), &version);
    if (found == CLUSTER_FRAME_PARTIAL)
        return false;
    if (found == CLUSTER_FRAME_BAD || version != BULK_VERSION) {
        bulk_end_break(end, found == CLUSTER_FRAME_BAD
                                ? "it does not speak Shoal's bulk connection: check the port"
                                : "it speaks another version of the bulk connection");
        return false;
    }
    const struct timeval stuck = { .tv_sec = STUCK_S };
    if (is_network(end))
        bufferevent_set_timeouts(end->events, NULL, &stuck);
    bufferevent_setwatermark(end->events, EV_READ, 0, READ_BYTES_USUAL);
    end->state = BULK_UP;
    end->heard_ns = time_now_ns();
    if (evbuffer_add_buffer(bufferevent_get_output(end->events), end->waiting) == 0)
        return true;
    bulk_end_break(end, "there is no memory for the connection");
    return false;
}

static void on_readable(struct bufferevent *events, void *self)
{
    struct bulk_end *end = self;
    struct bulk_head head;
    enum cluster_frame_found found = CLUSTER_FRAME_WHOLE;
    if (end->state == BULK_HELLO && !take_hello(end))
        return;
    while (end->state == BULK_UP && end->events == events) {
        found = bulk_frame_look(bufferevent_get_input(events), &head);
        if (found == CLUSTER_FRAME_PARTIAL)
            return;
        enum bulk_taken taken =
            found == CLUSTER_FRAME_WHOLE ? bulk_relay_take(end, &head) : BULK_TAKE_BAD;
        if (taken == BULK_TAKE_BAD) {
            bulk_end_break(end, "it sent what is no frame, or no answer to a question");
            return;
        }
        size_t n_most = (size_t)max_i64(READ_BYTES_USUAL, (int64_t)sizeof head + head.n_bytes);
        if (taken == BULK_TAKE_MORE) { /* the frame was judged, and may come whole */
            bufferevent_setwatermark(events, EV_READ, 0, n_most);
            return;
        }
        end->heard_ns = time_now_ns();
        if (end->events == events)
            bufferevent_setwatermark(events, EV_READ, 0, READ_BYTES_USUAL);
    }
}

static void on_connected(struct bulk_end *end)
{
    struct bulk_door *door = end->door;
    struct ssl_st *tls = bufferevent_openssl_get_ssl(end->events);
    if (tls != NULL &&
        !cluster_tcp_tls_is_known(tls, (const char *const *)door->names, door->n_names))
        bulk_end_break(end, "its certificate has none of the names in bulk_names");
    else
        expect_hello(end);
}

static void on_event(struct bufferevent *events, short what, void *self)
{
    struct bulk_end *end = self;
    unsigned long error = bufferevent_get_openssl_error(events);
    const char *reason = error != 0 ? ERR_reason_error_string(error) : NULL;
    ERR_clear_error();
    if (end->events != events)
        return;
    if ((what & BEV_EVENT_CONNECTED) && end->state == BULK_CONNECTING)
        on_connected(end);
    else if (what & BEV_EVENT_TIMEOUT)
        bulk_end_break(end, "it takes nothing");
    else if ((what & BEV_EVENT_EOF) && end->kind == BULK_ACCEPTS)
        bulk_end_break(end, NULL); /* it has what it wanted, or does not want it any more */
    else if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        bulk_end_break(end, reason != NULL ? reason : "the connection ended");
}

/* ---- Beginning. ---- */

/* fd -1: the socket comes when it connects. */
static bool open_events(struct bulk_end *end, int fd, const char *text)
{
    struct bulk_door *door = end->door;
    int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
    CHECK(end->state == BULK_FREE && end->events == NULL);
    if (door->tls == NULL || !is_network(end)) {
        end->events = bufferevent_socket_new(door->base, fd, options);
    } else {
        struct ssl_st *tls = cluster_tcp_tls_new(door->tls, NULL);
        enum bufferevent_ssl_state way =
            end->kind == BULK_DIALS ? BUFFEREVENT_SSL_CONNECTING : BUFFEREVENT_SSL_ACCEPTING;
        if (tls != NULL)
            end->events = bufferevent_openssl_socket_new(door->base, fd, tls, way, options);
        if (tls != NULL && end->events == NULL)
            SSL_free(tls);
    }
    end->waiting = evbuffer_new();
    if (end->events == NULL || end->waiting == NULL) {
        if (end->events != NULL) {
            (void)bufferevent_setfd(end->events, -1); /* the caller closes it */
            bufferevent_free(end->events);
        }
        if (end->waiting != NULL)
            evbuffer_free(end->waiting);
        end->events = NULL;
        end->waiting = NULL;
        return false;
    }
    end->begun_ns = end->heard_ns = time_now_ns();
    end->n_pending = 0;
    end->life++;
    end->waits_for_part = false;
    end->state = BULK_CONNECTING;
    snprintf(end->text, sizeof end->text, "%s", text);
    bufferevent_setcb(end->events, on_readable, NULL, on_event, end);
    return true;
}

void bulk_end_join(struct bulk_end *end, int fd, const char *text)
{
    bulk_end_break(end, NULL);
    if (evutil_make_socket_nonblocking(fd) != 0 || !open_events(end, fd, text))
        close(fd);
    else
        expect_hello(end);
}

void bulk_end_accept(struct bulk_end *end, int fd, const char *text)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!open_events(end, fd, text))
        close(fd);
    else if (end->door->tls == NULL)
        expect_hello(end);
    else if (bufferevent_enable(end->events, EV_READ | EV_WRITE) != 0)
        bulk_end_break(end, "there is no memory for the connection");
}

/* Returns a free place, or that of the dialled connection which was silent for longest. */
static struct bulk_end *place_to_dial(struct bulk_door *door)
{
    struct bulk_end *best = NULL;
    for (int i = 0; i < BULK_ENDS; i++) {
        struct bulk_end *end = &door->ends[i];
        if (end->kind != BULK_DIALS)
            continue;
        if (end->state == BULK_FREE)
            return end;
        if (best == NULL || end->heard_ns < best->heard_ns)
            best = end;
    }
    bulk_end_break(best, "another connection needs its place");
    return best;
}

struct bulk_end *bulk_end_to(struct bulk_door *door, const struct cluster_place *place)
{
    struct sockaddr_storage at;
    char text[96];
    for (int i = 0; i < BULK_ENDS; i++) {
        struct bulk_end *end = &door->ends[i];
        if (end->kind == BULK_DIALS && end->state != BULK_FREE &&
            bulk_place_is_same(&end->place, place))
            return end;
    }
    if (place->port == 0 || door->place.port == 0 ||
        (door->tls == NULL && !bulk_place_is_loopback(place)))
        return NULL; /* without a network, or without the certificates for it */
    struct bulk_end *end = place_to_dial(door);
    int n_to = (int)bulk_place_address(place, &at), on = 1;
    snprintf(text, sizeof text, "door at port %u", place->port);
    if (!open_events(end, -1, text))
        return NULL;
    end->place = *place;
    end->place.engine = 0;
    if (bufferevent_socket_connect(end->events, (const struct sockaddr *)&at, n_to) != 0) {
        bulk_end_break(end, "it cannot be reached");
        return NULL;
    }
    (void)setsockopt(bufferevent_getfd(end->events), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return end;
}

void bulk_end_tick(struct bulk_end *end, int64_t now_ns)
{
    if (end->state == BULK_FREE || !is_network(end))
        return;
    int64_t idle_ns = end->kind == BULK_DIALS ? IDLE_NS_DIALLED : IDLE_NS_ACCEPTED;
    if (end->state != BULK_UP && end->begun_ns + HELLO_NS_MAX <= now_ns)
        bulk_end_break(end, "it did not connect in time");
    else if (end->state == BULK_UP && end->heard_ns + idle_ns <= now_ns)
        bulk_end_break(end, NULL);
}
