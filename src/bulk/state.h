/* The state of a door. Private to this room; its thread alone uses it, except where a lock is
 * named. */
#pragma once
#include "base/map.h"
#include "base/wake.h"
#include "bulk/frame.h"
#include "bulk/options.h"
#include "cluster/message.h"

struct bufferevent;
struct event;
struct event_base;
struct evbuffer;
struct evconnlistener;
struct lock;
struct ssl_ctx_st;
struct thread;

enum {
    BULK_CHILDREN = LIMIT_DEVICES,
    BULK_DIALLED = 64,
    BULK_ACCEPTED = 64,
    BULK_ENDS = 1 + BULK_CHILDREN + BULK_DIALLED + BULK_ACCEPTED, /* the parent is the first */
    BULK_RELAYS = 4096,
    BULK_PLACES = 8192, /* learned */
    BULK_SELF = -1,     /* as an end's number: this process */
};
enum bulk_end_kind { BULK_PARENT, BULK_CHILD, BULK_DIALS, BULK_ACCEPTS };
enum bulk_end_state { BULK_FREE, BULK_CONNECTING, BULK_HELLO, BULK_UP };

struct bulk_end { /* a connection */
    struct bulk_door *door;
    enum bulk_end_kind kind;
    enum bulk_end_state state;
    struct cluster_place place; /* of a dialled one; its engine is 0 */
    struct bufferevent *events;
    struct evbuffer *waiting; /* questions until it is UP */
    int64_t n_pending;        /* bytes of answers that it waits for */
    int64_t begun_ns, heard_ns;
    uint64_t life;       /* counts the connections at this place */
    bool waits_for_part; /* of a file */
    char text[96];
};
struct bulk_relay {  /* a question that was passed on, until its answer */
    uint64_t serial; /* 0: unused */
    int from, to;    /* ends */
    bool is_dead;    /* its asker has an answer, or is gone */
    enum bulk_kind kind;
    uint64_t asked_serial; /* of the asker */
    int64_t n, due_ns;
};
struct bulk_door {
    struct bulk_door_options options;
    struct cluster_place place;
    uint16_t port; /* at which it listens */
    struct ssl_ctx_st *tls;
    char **names; /* (n_names) of the certificates that are known */
    int n_names;
    struct event_base *base;
    struct event *tick, *commands, *wishes, *parts;
    struct evconnlistener *listener;
    struct bulk_end ends[BULK_ENDS];
    struct bulk_relay relays[BULK_RELAYS];
    uint32_t first_relay;
    uint64_t n_serials;

    struct thread *thread;
    struct wake wake;
    struct lock *lock; /* of all below */
    bool is_over;
    bool has_child[BULK_CHILDREN];
    int child_fds[BULK_CHILDREN]; /* of new ones */
    struct map by_ticket;
    struct bulk_place {
        uint64_t ticket; /* 0: unused */
        struct cluster_place at;
    } places[BULK_PLACES]; /* a ring */
    uint32_t next_place;
};

/* ---- end.c ---- */

void bulk_end_accept(struct bulk_end *end, int fd, const char *text);
void bulk_end_join(struct bulk_end *end, int fd, const char *text); /* a child or the parent */
/* Returns the connection to this door, which may still have to connect; NULL: it may not be, or
 * can't. */
struct bulk_end *bulk_end_to(struct bulk_door *door, const struct cluster_place *place);
/* Ends the connection; its questions are answered. `why` NULL: it logs nothing. */
void bulk_end_break(struct bulk_end *end, const char *why);
void bulk_end_tick(struct bulk_end *end, int64_t now_ns);
/* Returns the buffer that takes frames for it; NULL: it is gone. */
struct evbuffer *bulk_end_out(struct bulk_end *end);

/* ---- relay.c ---- */

enum bulk_taken { BULK_TAKEN, BULK_TAKE_MORE, BULK_TAKE_BAD };
/* Takes the frame with this head out of the end's input. MORE: its payload has to come first. */
enum bulk_taken bulk_relay_take(struct bulk_end *end, const struct bulk_head *head);
/* Asks for what the engines of this process want. */
void bulk_relay_wishes(struct bulk_door *door);
void bulk_relay_parts(struct bulk_door *door); /* sends what was read of files */
void bulk_relay_lose(struct bulk_end *end);    /* it broke */
void bulk_relay_tick(struct bulk_door *door, int64_t now_ns);

/* ---- place.c ---- */

struct sockaddr;
struct sockaddr_storage;
/* False: it is no address of IP. */
bool bulk_place_of(const struct sockaddr *from, struct cluster_place *place) MUST_USE;
unsigned bulk_place_address(const struct cluster_place *place, struct sockaddr_storage *to);
bool bulk_place_is_loopback(const struct cluster_place *place);
bool bulk_place_is_same(const struct cluster_place *a, const struct cluster_place *b);
enum status bulk_place_resolve(const char *host, uint16_t port, struct cluster_place *place,
                               struct fault *fault) MUST_USE;
