/* One connection of a TCP bus, as this side sees it. Private to cluster/tcp_bus.c and tcp_end.c. */
#pragma once
#include "base/map.h"
#include "base/rng.h"
#include "base/wake.h"
#include "cluster/tcp_options.h"
#include <sys/socket.h>

struct bufferevent;
struct event;
struct evconnlistener;
struct ssl_ctx_st;

enum cluster_tcp_end_state {
    TCP_END_FREE,    /* a place for one that is accepted, or a dialled one without a target */
    TCP_END_WAITING, /* to be dialled at again_ns */
    TCP_END_CONNECTING,
    TCP_END_HELLO,
    TCP_END_UP,
    TCP_END_OVER, /* broken, but the actor does not know it yet */
};
struct cluster_tcp_end {
    struct cluster_tcp_bus *bus;
    enum cluster_tcp_end_state state;
    uint16_t address;
    bool is_dialled, is_ready; /* ready: in the bus's list of ends that may have mail */
    bool was_told;             /* that it cannot be reached */
    struct sockaddr_storage to;
    socklen_t n_to;
    char name[128]; /* of a dialled one's certificate */
    char text[128]; /* its name in the log */
    struct bufferevent *events;
    int64_t begun_ns;    /* CONNECTING and HELLO: since when */
    int64_t deadline_ns; /* CONNECTING and HELLO: for being UP; UP: for the next whole frame */
    int64_t again_ns, backoff_ns;
};
struct cluster_tcp_bus {
    struct cluster_tcp_bus_options options;
    struct ssl_ctx_st *tls;
    char **names; /* a copy of the names that may connect */
    int n_names;
    struct cluster_tcp_end *ends; /* (n_ends) the dialled ones first */
    int n_ends, n_dialled;
    uint32_t *ready; /* (n_ends) a ring of ends that may have mail */
    uint32_t n_ready, first_ready;
    struct evconnlistener *listener;
    struct event *tick;
    struct wake wake; /* readable while there may be mail */
    struct rng rng;
    unsigned char *message; /* the one that is shown, 8-byte aligned */
    size_t n_message, n_room;
    bool is_shown, is_local; /* is_local: the shown message is from the local port */
    bool is_woken;           /* `wake` is readable */
    struct map by_address;   /* places in `ends` */
};

/* The end may have mail, so the actor is woken. */
void cluster_tcp_end_is_ready(struct cluster_tcp_end *end);
void cluster_tcp_end_dial(struct cluster_tcp_end *end);
void cluster_tcp_end_accept(struct cluster_tcp_end *end, int fd, const char *text);
/* Ends the connection. `why` NULL: it logs nothing. */
void cluster_tcp_end_break(struct cluster_tcp_end *end, const char *why);
/* Called when the actor knows that the end is OVER. */
void cluster_tcp_end_forget(struct cluster_tcp_end *end);
/* Does the work that is due at this time. */
void cluster_tcp_end_tick(struct cluster_tcp_end *end, int64_t now_ns);
