/* Measures the time that the network path of the bus adds, over TCP on loopback and over TLS. Two
 * threads, each with an event loop, send one message of a token event's size back and forth, and
 * half of the round trip is printed. Then messages go one way only, and their rate is printed.
 *
 * usage: bench_bus [round trips, default 20000] [CERT KEY CA NAME] */
#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "cluster/message.h"
#include "cluster/tcp_bus.h"
#include <event2/event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { SERVER = 1, CLIENT, N_FLOOD = 2000000 };

struct end {
    struct event_base *base;
    struct cluster_tcp_bus *bus;
    struct bus_port port;
    struct event *mail;
    struct message_event message; /* CLIENT */
    int64_t sent_ns, *trips_ns;
    int n_trips, n_trips_max;
    int64_t n_heard;
};
static atomic_bool is_over;
static _Atomic int64_t n_flooded;

static void on_mail_of_server(evutil_socket_t fd, short what, void *self)
{
    struct end *end = self;
    const void *message;
    size_t n_bytes;
    (void)fd, (void)what;
    while (end->port.peek(end->port.self, 0, &message, &n_bytes)) {
        const struct message_head *head = message;
        if (head->kind == MESSAGE_EVENT && head->id == 0)
            (void)end->port.send(end->port.self, head->from, message, n_bytes, NULL, 0);
        else
            end->n_heard++;
        end->port.pop(end->port.self, 0);
    }
    atomic_store(&n_flooded, end->n_heard);
    if (atomic_load(&is_over))
        event_base_loopbreak(end->base);
}

static void ping(struct end *end)
{
    end->sent_ns = time_now_ns();
    CHECK(end->port.send(end->port.self, SERVER, &end->message, sizeof end->message, NULL, 0));
}

static void on_mail_of_client(evutil_socket_t fd, short what, void *self)
{
    struct end *end = self;
    const void *message;
    size_t n_bytes;
    (void)fd, (void)what;
    while (end->port.peek(end->port.self, 0, &message, &n_bytes)) {
        end->trips_ns[end->n_trips++] = time_now_ns() - end->sent_ns;
        end->port.pop(end->port.self, 0);
        if (end->n_trips == end->n_trips_max)
            event_base_loopbreak(end->base);
        else
            ping(end);
    }
}

static void open_end(struct end *end, const struct cluster_tcp_bus_options *options,
                     event_callback_fn on_mail)
{
    struct fault fault = { "" };
    struct cluster_tcp_bus_options o = *options;
    o.base = end->base = event_base_new();
    end->bus = cluster_tcp_bus_open(&o, &fault);
    if (end->bus == NULL) {
        fprintf(stderr, "%s\n", fault.text);
        exit(1);
    }
    end->port = cluster_tcp_bus_port(end->bus);
    int wait_fd = end->port.wait_fd(end->port.self, 0);
    end->mail = event_new(end->base, wait_fd, EV_READ | EV_PERSIST, on_mail, end);
    CHECK(end->mail != NULL && event_add(end->mail, NULL) == 0);
}

static void serve(void *self)
{
    (void)event_base_dispatch(((struct end *)self)->base);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void flood(struct end *end)
{
    int64_t begin_ns = time_now_ns();
    end->message.head.id = 1;
    for (int n = 0; n < N_FLOOD;) {
        while (n < N_FLOOD &&
               end->port.send(end->port.self, SERVER, &end->message, sizeof end->message, NULL, 0))
            n++;
        (void)event_base_loop(end->base, EVLOOP_ONCE);
    }
    while (atomic_load(&n_flooded) < N_FLOOD)
        (void)event_base_loop(end->base, EVLOOP_NONBLOCK);
    double s = (double)(time_now_ns() - begin_ns) * 1e-9;
    printf("one way: %.2f million messages of %zu bytes a second\n", N_FLOOD * 1e-6 / s,
           sizeof end->message);
}

int main(int argc, char **argv)
{
    static struct end server, client;
    const char *name = argc > 5 ? argv[5] : NULL;
    const struct cluster_tcp_tls tls = { argc > 5 ? argv[2] : NULL, argc > 5 ? argv[3] : NULL,
                                         argc > 5 ? argv[4] : NULL, &name, 1 };
    const struct cluster_tcp_tls *chosen = argc > 5 ? &tls : NULL;
    client.n_trips_max = argc > 1 ? atoi(argv[1]) : 20000;
    CHECK(client.n_trips_max > 100);
    client.trips_ns = mem_take(sizeof(int64_t) * (size_t)client.n_trips_max);
    open_end(&server,
             &(struct cluster_tcp_bus_options){ .address = SERVER,
                                                .listen_host = "127.0.0.1",
                                                .n_accepted_max = 1,
                                                .first_accepted = CLIENT,
                                                .tls = chosen },
             on_mail_of_server);
    const struct cluster_tcp_peer peer = { "127.0.0.1",
                                           (uint16_t)cluster_tcp_bus_listen_port(server.bus),
                                           SERVER, name };
    open_end(&client,
             &(struct cluster_tcp_bus_options){
                 .address = CLIENT, .peers = &peer, .n_peers = 1, .tls = chosen },
             on_mail_of_client);
    struct thread *thread = thread_start("server", serve, &server);
    while (cluster_tcp_bus_n_up(client.bus) == 0)
        (void)event_base_loop(client.base, EVLOOP_ONCE);
    client.message.head = cluster_message_head(MESSAGE_EVENT, CLIENT, sizeof client.message);
    ping(&client);
    (void)event_base_dispatch(client.base);
    qsort(client.trips_ns, (size_t)client.n_trips, sizeof(int64_t), by_size);
    printf("%s, one way, of %d round trips: median %.1f us, 90%% %.1f us, 99%% %.1f us\n",
           chosen != NULL ? "TLS" : "TCP", client.n_trips,
           (double)client.trips_ns[client.n_trips / 2] * 0.5e-3,
           (double)client.trips_ns[client.n_trips * 9 / 10] * 0.5e-3,
           (double)client.trips_ns[client.n_trips * 99 / 100] * 0.5e-3);
    flood(&client);
    atomic_store(&is_over, true);
    CHECK(client.port.send(client.port.self, SERVER, &client.message, sizeof client.message, NULL,
                           0));
    for (int i = 0; i < 10; i++)
        (void)event_base_loop(client.base, EVLOOP_NONBLOCK);
    thread_join(thread);
    return 0;
}
