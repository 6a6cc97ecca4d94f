/* The door's thread, its listener, and what other threads tell it. */
#include "bulk/door.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "bulk/files.h"
#include "bulk/pulls.h"
#include "bulk/state.h"
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64, TICK_MS = 100 };

/* ---- Callbacks of libevent, on the door's thread. ---- */

static void on_tick(evutil_socket_t fd, short what, void *self)
{
    struct bulk_door *door = self;
    int64_t now_ns = time_now_ns();
    (void)fd, (void)what;
    for (int i = 0; i < BULK_ENDS; i++)
        bulk_end_tick(&door->ends[i], now_ns);
    bulk_relay_tick(door, now_ns);
    if (door->listener != NULL)
        (void)evconnlistener_enable(door->listener);
}

static void on_wishes(evutil_socket_t fd, short what, void *self)
{
    (void)fd, (void)what;
    bulk_relay_wishes(self);
}

static void on_parts(evutil_socket_t fd, short what, void *self)
{
    (void)fd, (void)what;
    bulk_relay_parts(self);
}

static void take_children(struct bulk_door *door)
{
    for (int e = 0; e < BULK_CHILDREN; e++) {
        char text[32];
        lock_take(door->lock);
        bool is_new = door->has_child[e];
        int fd = door->child_fds[e];
        door->has_child[e] = false;
        lock_put(door->lock);
        snprintf(text, sizeof text, "engine-%d", e);
        if (is_new)
            bulk_end_join(&door->ends[1 + e], fd, text);
    }
}

static void on_command(evutil_socket_t fd, short what, void *self)
{
    struct bulk_door *door = self;
    (void)fd, (void)what;
    wake_clear(&door->wake);
    lock_take(door->lock);
    bool is_over = door->is_over;
    lock_put(door->lock);
    take_children(door);
    if (is_over)
        (void)event_base_loopbreak(door->base);
}

/* Returns a free place, or that of the oldest stranger that has not sent its hello; NULL: all are
 * in use. */
static struct bulk_end *place_for_another(struct bulk_door *door)
{
    struct bulk_end *oldest = NULL;
    for (int i = 0; i < BULK_ENDS; i++) {
        struct bulk_end *end = &door->ends[i];
        if (end->kind != BULK_ACCEPTS)
            continue;
        if (end->state == BULK_FREE)
            return end;
        if (end->state != BULK_UP && (oldest == NULL || end->begun_ns < oldest->begun_ns))
            oldest = end;
    }
    if (oldest != NULL)
        bulk_end_break(oldest, "another connection needs its place");
    return oldest;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
                      int n_from, void *self)
{
    struct bulk_end *end = place_for_another(self);
    char host[48] = "?", port[8] = "?", text[96];
    (void)listener;
    (void)getnameinfo(from, (socklen_t)n_from, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(text, sizeof text, "connection from %s port %s", host, port);
    if (end != NULL)
        bulk_end_accept(end, fd, text);
    else
        close(fd);
}

/* Without descriptors it does not listen, so that its loop does not spin, until the next tick. */
static void on_accept_error(struct evconnlistener *listener, void *self)
{
    (void)self;
    (void)evconnlistener_disable(listener);
}

/* ---- From other threads. ---- */

struct cluster_place bulk_door_place(const struct bulk_door *door)
{
    return door->place;
}

uint16_t bulk_door_port(const struct bulk_door *door)
{
    return door->port;
}

void bulk_door_learn(struct bulk_door *door, uint64_t ticket, const struct cluster_place *place)
{
    if (ticket == 0)
        return;
    lock_take(door->lock);
    uint32_t i = map_find(&door->by_ticket, ticket);
    if (i == MAP_NONE) {
        i = door->next_place++ % BULK_PLACES;
        if (door->places[i].ticket != 0)
            CHECK(map_remove(&door->by_ticket, door->places[i].ticket));
        CHECK(map_put(&door->by_ticket, ticket, i));
    }
    door->places[i] = (struct bulk_place){ ticket, *place };
    lock_put(door->lock);
}

int bulk_door_take_child(struct bulk_door *door, int engine)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return -1;
    lock_take(door->lock);
    if (door->has_child[engine])
        close(door->child_fds[engine]);
    door->has_child[engine] = true;
    door->child_fds[engine] = fds[0];
    lock_put(door->lock);
    wake_up(&door->wake);
    return fds[1];
}

/* ---- Opening and closing. ---- */

static void run(void *arg)
{
    struct bulk_door *door = arg;
    (void)event_base_loop(door->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

static struct event *watch(struct bulk_door *door, int fd, event_callback_fn callback)
{
    struct event *event = event_new(door->base, fd, EV_READ | EV_PERSIST, callback, door);
    mem_need(event != NULL && event_add(event, NULL) == 0);
    return event;
}

static enum status open_tls(struct bulk_door *door, struct fault *fault)
{
    const struct cluster_tcp_tls *o = door->options.tls;
    if (o == NULL)
        return STATUS_OK;
    door->names = mem_take(sizeof *door->names * (size_t)o->n_names);
    for (; door->n_names < o->n_names; door->n_names++)
        door->names[door->n_names] = mem_copy_text(o->names[door->n_names]);
    door->tls = cluster_tcp_tls_open(o, fault);
    return door->tls != NULL ? STATUS_OK : STATUS_BAD_INPUT;
}

static enum status listen_at(struct bulk_door *door, struct fault *fault)
{
    const struct bulk_door_options *o = &door->options;
    const char *shown = o->advertise_host != NULL ? o->advertise_host : o->listen_host;
    struct cluster_place own, advertised;
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    enum status status = bulk_place_resolve(o->listen_host, o->listen_port, &own, fault);
    if (status == STATUS_OK)
        status = bulk_place_resolve(shown, o->advertise_port, &advertised, fault);
    if (status != STATUS_OK)
        return status;
    if (door->tls == NULL && !(bulk_place_is_loopback(&own) && bulk_place_is_loopback(&advertised)))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "bulk_listen: %.60s is not an address of this machine's loopback, where "
                         "alone bulk data goes without TLS: set bus_cert, bus_key and bus_ca",
                         o->listen_host);
    int n_at = (int)bulk_place_address(&own, &at);
    door->listener =
        evconnlistener_new_bind(door->base, on_accept, door,
                                LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
                                BACKLOG, (const struct sockaddr *)&at, n_at);
    if (door->listener == NULL ||
        getsockname(evconnlistener_get_fd(door->listener), (struct sockaddr *)&at, &n) != 0 ||
        !bulk_place_of((const struct sockaddr *)&at, &own))
        return fault_set(fault, STATUS_IO, "bulk_listen: %.100s port %u: %s", o->listen_host,
                         o->listen_port, evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
    evconnlistener_set_error_cb(door->listener, on_accept_error);
    door->port = own.port;
    door->place = advertised;
    door->place.port = o->advertise_port != 0 ? o->advertise_port : own.port;
    return STATUS_OK;
}

static void name_ends(struct bulk_door *door)
{
    for (int i = 0; i < BULK_ENDS; i++) {
        door->ends[i].door = door;
        door->ends[i].kind = i == 0                              ? BULK_PARENT
                             : i <= BULK_CHILDREN                ? BULK_CHILD
                             : i <= BULK_CHILDREN + BULK_DIALLED ? BULK_DIALS
                                                                 : BULK_ACCEPTS;
    }
}

/* The functions of memory are those that the API sets: libevent wants them before its first use. */
static void open_base(struct bulk_door *door)
{
    event_set_mem_functions(mem_library_take, mem_library_grow, mem_library_give);
    struct event_config *config = event_config_new();
    mem_need(config != NULL);
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    door->base = event_base_new_with_config(config);
    event_config_free(config);
    if (door->base == NULL)
        base_refuse("the system gives no descriptor to wait for events with (ulimit -n)");
}

struct bulk_door *bulk_door_open(const struct bulk_door_options *options, struct fault *fault)
{
    struct bulk_door *door = mem_take(sizeof *door);
    const struct timeval each = { .tv_usec = 1000 * TICK_MS };
    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to what a peer closed without a guard */
    door->options = *options;
    door->lock = lock_open();
    map_init(&door->by_ticket, BULK_PLACES);
    wake_open(&door->wake);
    name_ends(door);
    open_base(door);
    enum status status = open_tls(door, fault);
    if (status == STATUS_OK && options->listen_host != NULL)
        status = listen_at(door, fault);
    if (status != STATUS_OK) {
        bulk_door_close(door);
        return NULL;
    }
    door->options.tls = NULL; /* lent for the call, as the texts are */
    door->options.listen_host = door->options.advertise_host = NULL;
    door->tick = event_new(door->base, -1, EV_PERSIST, on_tick, door);
    mem_need(door->tick != NULL && event_add(door->tick, &each) == 0);
    door->commands = watch(door, door->wake.fd, on_command);
    if (options->pulls != NULL)
        door->wishes = watch(door, bulk_pulls_wake_fd(options->pulls), on_wishes);
    if (options->files != NULL)
        door->parts = watch(door, bulk_files_wake_fd(options->files), on_parts);
    if (options->parent_fd >= 0)
        bulk_end_join(&door->ends[0], options->parent_fd, "the server");
    door->thread = thread_start("bulk", run, door);
    return door;
}

void bulk_door_close(struct bulk_door *door)
{
    if (door == NULL)
        return;
    if (door->thread != NULL) {
        lock_take(door->lock);
        door->is_over = true;
        lock_put(door->lock);
        wake_up(&door->wake);
        thread_join(door->thread);
    }
    for (int i = 0; i < BULK_ENDS; i++)
        bulk_end_break(&door->ends[i], NULL);
    struct event *events[] = { door->tick, door->commands, door->wishes, door->parts };
    for (size_t i = 0; i < COUNT_OF(events); i++)
        if (events[i] != NULL)
            event_free(events[i]);
    if (door->listener != NULL)
        evconnlistener_free(door->listener);
    (void)event_base_loop(door->base, EVLOOP_NONBLOCK); /* buffers are freed from the loop */
    event_base_free(door->base);
    for (int e = 0; e < BULK_CHILDREN; e++)
        if (door->has_child[e])
            close(door->child_fds[e]);
    cluster_tcp_tls_close(door->tls);
    for (int i = 0; i < door->n_names; i++)
        mem_give(door->names[i]);
    mem_give(door->names);
    map_free(&door->by_ticket);
    wake_close(&door->wake);
    lock_close(door->lock);
    mem_give(door);
}
