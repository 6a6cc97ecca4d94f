/* The HTTP server on libevent's buffers: open and close, accepting connections, and the sweep. */
#include "api/http.h"
#include "api/http_listen.h"
#include "api/http_state.h"
#include "base/log.h"
#include "base/mem.h"
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { PARTIES_MORE = 4096 }; /* for tenants, and for addresses that still hold memory */

/* --- accepting --- */

/* Returns the address with the most idle connections. A proxy is chosen only when no other address
 * has any. */
static struct api_party *find_greediest(const struct api_http *http)
{
    struct api_party *most = NULL;
    for (struct connection *c = http->first; c != NULL; c = c->next) {
        struct api_party *peer = c->peer;
        if (peer->n_idle > 0 && (most == NULL || (most->is_proxy && !peer->is_proxy) ||
                                 (most->is_proxy == peer->is_proxy && peer->n_idle > most->n_idle)))
            most = peer;
    }
    return most;
}

/* Finds a place for a connection. When all are taken, idle connections of the greediest address are
 * closed: many at once, since the search takes long. Returns false when not even a spare place is
 * left. */
static bool find_place(struct api_http *http)
{
    int32_t n_max = http->options.n_connections_max;
    const struct api_party *greediest = http->n_connections >= n_max ? find_greediest(http) : NULL;
    if (greediest != NULL)
        (void)api_http_connection_evict(http, greediest, 1 + n_max / 64);
    return http->n_connections < n_max + HTTP_SPARE_CONNECTIONS;
}

static void on_accepted(struct evconnlistener *listener, evutil_socket_t fd,
                        struct sockaddr *socket_address, int n_address, void *arg)
{
    (void)listener, (void)n_address;
    struct api_http *http = arg;
    struct api_address address = api_addresses_of_socket(socket_address);
    if (!find_place(http)) {
        close(fd);
        return;
    }
    struct api_party *peer = api_parties_take_address(http->parties, &address);
    peer->is_proxy = api_addresses_is_in(&address, http->options.proxies, http->options.n_proxies);
    (void)api_http_connection_open(http, fd, peer);
    api_parties_put(http->parties, peer);
}

/* Called when descriptors run out. Stops listening, so that the loop does not spin; the sweep
 * listens again. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    (void)arg;
    log_line(LOG_WARN, "http", "can't accept: %s", strerror(errno));
    evconnlistener_disable(listener);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct api_http *http = arg;
    int64_t now_ns = time_now_ns();
    for (struct connection *c = http->first, *next; c != NULL; c = next) {
        next = c->next;
        if (api_http_connection_is_left(c))
            api_http_connection_close(c);
        else if (now_ns < c->deadline_ns)
            continue;
        else if (c->state == BODY || (c->state == HEAD && c->looked > 0))
            api_http_connection_refuse(c, 408, "the request took too long to arrive");
        else
            api_http_connection_close(c);
    }
    evconnlistener_enable(http->listener);
}

/* --- the loop --- */

void api_http_watch(struct api_http *http, int fd, void (*f)(void *arg), void *arg)
{
    api_http_watches_add(&http->watches, http->base, fd, f, arg);
}

void api_http_watch_signal(struct api_http *http, int number, void (*f)(void *arg), void *arg)
{
    api_http_watches_add_signal(&http->watches, http->base, number, f, arg);
}

void api_http_wake_at(struct api_http *http, int64_t at_ns)
{
    api_http_watches_wake_at(&http->watches, at_ns);
}

void api_http_run(struct api_http *http)
{
    struct mem_account *before = mem_account_use(http->options.account);
    event_base_dispatch(http->base);
    (void)mem_account_use(before);
}

void api_http_stop(struct api_http *http)
{
    event_base_loopbreak(http->base);
}

void api_http_drain(struct api_http *http)
{
    http->is_draining = true;
}

/* --- open and close --- */

enum status api_http_open(struct api_http **out, const struct api_http_options *options,
                          struct fault *fault)
{
    struct api_http *http = mem_take(sizeof(*http));
    http->options = *options;
    int fd = api_http_listen_open(options->listen, fault);
    if (fd < 0) {
        mem_give(http);
        return STATUS_IO;
    }
    int32_t n_connections = options->n_connections_max + HTTP_SPARE_CONNECTIONS;
    signal(SIGPIPE, SIG_IGN);
    api_http_listen_raise(n_connections + 256);
    http->port = api_http_listen_port(fd);
    http->is_local = api_http_listen_is_local(fd);
    http->parties =
        api_parties_open((uint32_t)(2 * n_connections + PARTIES_MORE), options->account);
    http->base = options->base != NULL ? options->base : api_http_watches_base();
    http->listener = evconnlistener_new(http->base, on_accepted, http,
                                        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    http->sweep = event_new(http->base, -1, EV_PERSIST, on_sweep, http);
    mem_need(http->listener != NULL && http->sweep != NULL);
    api_http_watches_open(&http->watches, http->base, options->on_wake, options->self);
    evconnlistener_set_error_cb(http->listener, on_accept_error);
    event_add(http->sweep, &(struct timeval){ .tv_sec = 1 });
    *out = http;
    return STATUS_OK;
}

void api_http_close(struct api_http *http)
{
    if (http == NULL)
        return;
    while (http->first != NULL)
        api_http_connection_close(http->first);
    api_http_watches_close(&http->watches);
    event_free(http->sweep);
    evconnlistener_free(http->listener);
    event_base_loop(http->base, EVLOOP_NONBLOCK); /* the loop frees the buffers */
    if (http->options.base == NULL)
        event_base_free(http->base);
    str_free(&http->chunk);
    api_parties_close(http->parties);
    mem_give(http);
}

/* --- what is known --- */

bool api_http_is_local(const struct api_http *http)
{
    return http->is_local;
}

int api_http_port(const struct api_http *http)
{
    return http->port;
}

int32_t api_http_n_connections(const struct api_http *http)
{
    return http->n_connections;
}

int64_t api_http_unsent_bytes(const struct api_http *http)
{
    return http->unsent_bytes;
}

struct api_parties *api_http_parties(const struct api_http *http)
{
    return http->parties;
}
