/* The port of an actor over its connections. */
#include "cluster/tcp_bus.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cluster/frame.h"
#include "cluster/message.h"
#include "cluster/tcp_end.h"
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 512, TICK_MS = 50 };
static const size_t OUT_BYTES_USUAL = (size_t)16 << 20;
static const size_t ROOM_USUAL = (size_t)64 << 10;

/* ---- The port. ---- */

/* Returns NULL when the address is no connection's. */
static struct cluster_tcp_end *end_of(struct cluster_tcp_bus *bus, uint16_t address)
{
    uint32_t at = map_find(&bus->by_address, address);
    return at != MAP_NONE ? &bus->ends[at] : NULL;
}

static bool post(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2)
{
    struct cluster_tcp_bus *bus = self;
    struct cluster_tcp_end *end = end_of(bus, to);
    const struct bus_port *local = bus->options.local;
    if (end == NULL)
        return local == NULL || local->send(local->self, to, part1, n1, part2, n2);
    if (end->state == TCP_END_OVER || (end->state == TCP_END_FREE && !end->is_dialled))
        return true; /* its session is over or about to be, and the message is lost with it */
    if (end->state != TCP_END_UP)
        return false;
    struct evbuffer *out = bufferevent_get_output(end->events);
    size_t n_waiting = evbuffer_get_length(out), n_frame = cluster_frame_bytes(n1 + n2);
    bool is_full = n_waiting > 0 && n_waiting + n_frame > bus->options.out_bytes_max;
    if (is_full && !bus->options.cuts_slow)
        return false;
    if (is_full)
        cluster_tcp_end_break(end, "it takes too little of what it is sent");
    else if (!cluster_frame_write(out, part1, n1, part2, n2))
        cluster_tcp_end_break(end, "there is no memory for a message");
    return true;
}

static bool show(struct cluster_tcp_bus *bus, const struct cluster_tcp_end *end, size_t n_message)
{
    bus->is_shown = true;
    bus->is_local = false;
    bus->n_message = n_message;
    ((struct message_head *)(void *)bus->message)->from = end->address; /* whatever it holds */
    return true;
}

static void make_room(struct cluster_tcp_bus *bus, size_t n_bytes)
{
    if (n_bytes <= bus->n_room)
        return;
    mem_give(bus->message);
    bus->n_room = n_bytes > ROOM_USUAL ? n_bytes : ROOM_USUAL;
    bus->message = mem_take(bus->n_room);
}

/* Shows the end's next message; false when it has none. */
static bool take_from(struct cluster_tcp_bus *bus, struct cluster_tcp_end *end)
{
    size_t n_message;
    if (end->state == TCP_END_OVER) {
        struct message_head closed = cluster_message_head(MESSAGE_CLOSED, 0, sizeof closed);
        memcpy(bus->message, &closed, sizeof closed);
        cluster_tcp_end_forget(end);
        return show(bus, end, sizeof closed);
    }
    if (end->state != TCP_END_UP)
        return false;
    struct evbuffer *in = bufferevent_get_input(end->events);
    enum cluster_frame_found found = cluster_frame_look(in, &n_message);
    if (found == CLUSTER_FRAME_PARTIAL)
        return false;
    if (found == CLUSTER_FRAME_WHOLE) {
        make_room(bus, n_message);
        found = cluster_frame_take(in, bus->message, n_message) ? found : CLUSTER_FRAME_BAD;
    }
    if (found == CLUSTER_FRAME_BAD) {
        cluster_tcp_end_break(end, "it sent what is no frame"); /* which makes it ready: OVER */
        return false;
    }
    end->deadline_ns = time_now_ns() + 10 * TIME_NS_PER_S;
    cluster_tcp_end_is_ready(end); /* behind all others, with what follows */
    return show(bus, end, n_message);
}

static bool peek(void *self, uint16_t at, const void **message, size_t *n_bytes)
{
    struct cluster_tcp_bus *bus = self;
    const struct bus_port *local = bus->options.local;
    if (!bus->is_shown && local != NULL && local->peek(local->self, at, message, n_bytes)) {
        bus->is_local = bus->is_shown = true;
        return true;
    }
    if (bus->is_shown && bus->is_local)
        return local->peek(local->self, at, message, n_bytes);
    while (!bus->is_shown && bus->n_ready > 0) {
        struct cluster_tcp_end *end = &bus->ends[bus->ready[bus->first_ready]];
        bus->first_ready = (bus->first_ready + 1) % (uint32_t)bus->n_ends;
        bus->n_ready--;
        end->is_ready = false;
        (void)take_from(bus, end);
    }
    if (!bus->is_shown) {
        if (bus->is_woken)
            wake_clear(&bus->wake);
        bus->is_woken = false;
        return false;
    }
    *message = bus->message;
    *n_bytes = bus->n_message;
    return true;
}

static void pop(void *self, uint16_t at)
{
    struct cluster_tcp_bus *bus = self;
    if (bus->is_shown && bus->is_local)
        bus->options.local->pop(bus->options.local->self, at);
    bus->is_shown = bus->is_local = false;
    if (bus->n_room > ROOM_USUAL) { /* a long message was an exception */
        mem_give(bus->message);
        bus->n_room = 0;
        make_room(bus, ROOM_USUAL);
    }
}

static int wait_fd(void *self, uint16_t at)
{
    (void)at;
    return ((struct cluster_tcp_bus *)self)->wake.fd;
}

struct bus_port cluster_tcp_bus_port(struct cluster_tcp_bus *bus)
{
    return (struct bus_port){ .self = bus,
                              .address = bus->options.address,
                              .can_lose = true,
                              .n_local = bus->options.n_local,
                              .send = post,
                              .peek = peek,
                              .pop = pop,
                              .wait_fd = wait_fd };
}

int cluster_tcp_bus_n_up(const struct cluster_tcp_bus *bus)
{
    int n = 0;
    for (int i = 0; i < bus->n_ends; i++)
        n += bus->ends[i].state == TCP_END_UP;
    return n;
}

void cluster_tcp_bus_cut(struct cluster_tcp_bus *bus, uint16_t address)
{
    struct cluster_tcp_end *end = end_of(bus, address);
    if (end != NULL && end->state == TCP_END_UP)
        cluster_tcp_end_break(end, "it was cut");
}

/* ---- Callbacks of libevent. ---- */

static void on_tick(evutil_socket_t fd, short what, void *self)
{
    struct cluster_tcp_bus *bus = self;
    int64_t now_ns = time_now_ns();
    (void)fd, (void)what;
    for (int i = 0; i < bus->n_ends; i++)
        cluster_tcp_end_tick(&bus->ends[i], now_ns);
    if (bus->listener != NULL)
        (void)evconnlistener_enable(bus->listener);
}

/* Returns a free place, or that of the oldest stranger that has not sent its hello. NULL: all are
 * in use. */
static struct cluster_tcp_end *place_for_another(struct cluster_tcp_bus *bus)
{
    struct cluster_tcp_end *oldest = NULL;
    for (int i = bus->n_dialled; i < bus->n_ends; i++) {
        struct cluster_tcp_end *end = &bus->ends[i];
        bool is_stranger = end->state == TCP_END_CONNECTING || end->state == TCP_END_HELLO;
        if (end->state == TCP_END_FREE)
            return end;
        if (is_stranger && (oldest == NULL || end->begun_ns < oldest->begun_ns))
            oldest = end;
    }
    if (oldest != NULL)
        cluster_tcp_end_break(oldest, "another connection needs its place");
    return oldest;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
                      int n_from, void *self)
{
    struct cluster_tcp_bus *bus = self;
    struct cluster_tcp_end *end = place_for_another(bus);
    char host[64] = "?", port[8] = "?", text[128];
    (void)listener;
    (void)getnameinfo(from, (socklen_t)n_from, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(text, sizeof text, "connection from %s port %s", host, port);
    if (end != NULL)
        cluster_tcp_end_accept(end, fd, text);
    else
        close(fd);
}

/* Without descriptors it does not listen, so that its loop does not spin, until the next tick. */
static void on_accept_error(struct evconnlistener *listener, void *self)
{
    (void)self;
    (void)evconnlistener_disable(listener);
}

/* ---- Opening and closing. ---- */

static bool is_loopback(const struct sockaddr_storage *at)
{
    if (at->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
    return at->ss_family == AF_INET &&
           ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* The address of host and port; plain connections stay on this machine. */
static enum status resolve(const struct cluster_tcp_bus *bus, const char *host, uint16_t port,
                           struct cluster_tcp_end *out, struct fault *fault)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char text[8];
    snprintf(text, sizeof text, "%u", port);
    int error = getaddrinfo(host, text, &hints, &found);
    if (error != 0)
        return fault_set(fault, STATUS_BAD_INPUT, "bus: host %.100s: %s", host,
                         gai_strerror(error));
    memcpy(&out->to, found->ai_addr, found->ai_addrlen);
    out->n_to = found->ai_addrlen;
    freeaddrinfo(found);
    if (bus->tls != NULL || is_loopback(&out->to))
        return STATUS_OK;
    return fault_set(
        fault, STATUS_BAD_INPUT,
        "bus: %.100s is not an address of this machine's loopback, where alone the bus "
        "goes without TLS: set cert, key and ca",
        host);
}

static enum status listen_at(struct cluster_tcp_bus *bus, struct fault *fault)
{
    const struct cluster_tcp_bus_options *o = &bus->options;
    struct cluster_tcp_end at = { 0 };
    enum status status = resolve(bus, o->listen_host, o->listen_port, &at, fault);
    if (status != STATUS_OK)
        return status;
    bus->listener = evconnlistener_new_bind(
        o->base, on_accept, bus, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
        BACKLOG, (const struct sockaddr *)&at.to, (int)at.n_to);
    if (bus->listener == NULL)
        return fault_set(fault, STATUS_IO, "bus: listen: %.100s port %u: %s", o->listen_host,
                         o->listen_port, evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
    evconnlistener_set_error_cb(bus->listener, on_accept_error);
    return STATUS_OK;
}

static enum status aim(struct cluster_tcp_bus *bus, struct cluster_tcp_end *end,
                       const struct cluster_tcp_peer *peer, struct fault *fault)
{
    const char *name = peer->name != NULL ? peer->name : peer->host;
    if (strlen(name) >= sizeof end->name)
        return fault_set(fault, STATUS_BAD_INPUT, "bus: name %.60s... is too long", name);
    enum status status = resolve(bus, peer->host, peer->port, end, fault);
    if (status != STATUS_OK)
        return status;
    snprintf(end->name, sizeof end->name, "%s", name);
    snprintf(end->text, sizeof end->text, "%.100s port %u", peer->host, peer->port);
    return STATUS_OK;
}

static enum status know_peer(struct cluster_tcp_bus *bus, int i, struct fault *fault)
{
    const struct cluster_tcp_peer *peer = &bus->options.peers[i];
    struct cluster_tcp_end *end = &bus->ends[i];
    end->is_dialled = true;
    if (peer->host == NULL)
        return STATUS_OK; /* FREE */
    end->state = TCP_END_WAITING;
    return aim(bus, end, peer, fault);
}

bool cluster_tcp_bus_is_up(const struct cluster_tcp_bus *bus, uint16_t address)
{
    uint32_t at = map_find(&bus->by_address, address);
    return at != MAP_NONE && bus->ends[at].state == TCP_END_UP;
}

enum status cluster_tcp_bus_aim(struct cluster_tcp_bus *bus, uint16_t address, const char *host,
                                uint16_t port, struct fault *fault)
{
    struct cluster_tcp_end *end = end_of(bus, address);
    const struct cluster_tcp_peer peer = { .host = host, .port = port };
    CHECK(end != NULL && end->is_dialled);
    bool was_free = end->state == TCP_END_FREE;
    enum status status = host != NULL ? aim(bus, end, &peer, fault) : STATUS_OK;
    if (host == NULL || status != STATUS_OK)
        end->n_to = 0;
    if (!was_free && end->state != TCP_END_OVER)
        cluster_tcp_end_break(end, NULL);
    end->backoff_ns = 0;
    end->was_told = false;
    if (status == STATUS_OK && host != NULL && end->state != TCP_END_OVER) {
        end->state = TCP_END_WAITING;
        end->again_ns = 0;
    }
    return status;
}

static enum status open_tls(struct cluster_tcp_bus *bus, struct fault *fault)
{
    const struct cluster_tcp_tls *o = bus->options.tls;
    if (o == NULL)
        return STATUS_OK;
    bus->names = mem_take(sizeof *bus->names * (size_t)o->n_names);
    for (; bus->n_names < o->n_names; bus->n_names++)
        bus->names[bus->n_names] = mem_copy_text(o->names[bus->n_names]);
    bus->tls = cluster_tcp_tls_open(o, fault);
    return bus->tls != NULL ? STATUS_OK : STATUS_BAD_INPUT;
}

static enum status open_all(struct cluster_tcp_bus *bus, struct fault *fault)
{
    const struct timeval each = { .tv_usec = 1000 * TICK_MS };
    enum status status = open_tls(bus, fault);
    for (int i = 0; i < bus->n_dialled && status == STATUS_OK; i++)
        status = know_peer(bus, i, fault);
    if (status == STATUS_OK && bus->options.listen_host != NULL)
        status = listen_at(bus, fault);
    if (status != STATUS_OK)
        return status;
    bus->tick = event_new(bus->options.base, -1, EV_PERSIST, on_tick, bus);
    mem_need(bus->tick != NULL && event_add(bus->tick, &each) == 0);
    event_active(bus->tick, 0, 0); /* the first dials need not wait */
    return STATUS_OK;
}

struct cluster_tcp_bus *cluster_tcp_bus_open(const struct cluster_tcp_bus_options *options,
                                             struct fault *fault)
{
    struct cluster_tcp_bus *bus = mem_take(sizeof *bus);
    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to what a peer closed without a guard */
    bus->options = *options;
    if (bus->options.out_bytes_max == 0)
        bus->options.out_bytes_max = OUT_BYTES_USUAL;
    bus->n_dialled = options->n_peers;
    bus->n_ends = options->n_peers + (options->listen_host != NULL ? options->n_accepted_max : 0);
    bus->ends = mem_take(sizeof *bus->ends * (size_t)bus->n_ends);
    bus->ready = mem_take(sizeof *bus->ready * (size_t)bus->n_ends);
    map_init(&bus->by_address, (uint32_t)bus->n_ends);
    for (int i = 0; i < bus->n_ends; i++) {
        struct cluster_tcp_end *end = &bus->ends[i];
        end->bus = bus;
        end->address = i < bus->n_dialled
                           ? options->peers[i].address
                           : (uint16_t)(options->first_accepted + i - bus->n_dialled);
        CHECK(map_find(&bus->by_address, end->address) == MAP_NONE);
        CHECK(map_put(&bus->by_address, end->address, (uint32_t)i));
    }
    rng_init(&bus->rng, rng_system(), 0);
    wake_open(&bus->wake);
    make_room(bus, ROOM_USUAL);
    if (open_all(bus, fault) == STATUS_OK)
        return bus;
    cluster_tcp_bus_close(bus);
    return NULL;
}

void cluster_tcp_bus_close(struct cluster_tcp_bus *bus)
{
    for (int i = 0; i < bus->n_ends; i++)
        if (bus->ends[i].events != NULL)
            bufferevent_free(bus->ends[i].events);
    if (bus->listener != NULL)
        evconnlistener_free(bus->listener);
    if (bus->tick != NULL)
        event_free(bus->tick);
    cluster_tcp_tls_close(bus->tls);
    for (int i = 0; i < bus->n_names; i++)
        mem_give(bus->names[i]);
    mem_give(bus->names);
    wake_close(&bus->wake);
    map_free(&bus->by_address);
    mem_give(bus->ends);
    mem_give(bus->ready);
    mem_give(bus->message);
    mem_give(bus);
}

int cluster_tcp_bus_listen_port(const struct cluster_tcp_bus *bus)
{
    struct sockaddr_storage at = { 0 };
    socklen_t n = sizeof at;
    if (bus->listener == NULL ||
        getsockname(evconnlistener_get_fd(bus->listener), (struct sockaddr *)&at, &n) != 0)
        return 0;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}
