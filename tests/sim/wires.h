/* The connections between the processes of a simulated cluster, on virtual time: as
 * cluster/tcp_bus.h, with the faults of networks. A process dials others from its places; a
 * dialled process has a place for each connection that it accepted. A place is an address.
 *
 *   a dialled place:  FREE --aim--> WAITING --its time comes--> CONNECTING --both ways are open-->
 * UP --broken--> OVER --its process read CLOSED--> WAITING
 *
 * A cut holds what is sent in one direction, as TCP does. An end breaks when it hears nothing for
 * 10 s, when what it sends is held for 5 s, and when the other end broke and its word gets through.
 * With `loss` single messages are lost within a connection, which sessions have to notice. */
#pragma once
#include "base/rng.h"
#include "cluster/bus.h"
#include "cluster/message.h"

enum { WIRES_FIRST_ADDRESS = 16, WIRES_ACCEPTED_MAX = 255 };

struct wires_options {
    int n_processes;
    uint64_t seed;
    int64_t delay_ns;  /* of a message, one way, on average */
    double loss;       /* 0..1 */
    size_t out_bytes;  /* that may be held for one connection */
    bool hides_others; /* reports lose what they say of other gateways */
};
struct wires_count {
    int64_t n[MESSAGE_N], n_bytes[MESSAGE_N]; /* sent, by kind */
};
struct wires;
struct wires *wires_open(const struct wires_options *options);
void wires_close(struct wires *wires);

/* A process begins, with free places, or ends. is_silent: its machine is gone, so the others hear
 * nothing of it. `life` is told to those that it is connected to (wires_shown). */
void wires_start(struct wires *wires, int process, int n_places, uint64_t life);
void wires_stop(struct wires *wires, int process, bool is_silent);
struct bus_port wires_port(struct wires *wires, int process);
bool wires_is_up(const struct wires *wires, int process, uint16_t address);
void wires_aim(struct wires *wires, int process, int place, int target);
int wires_n_up(const struct wires *wires, int process);
/* The message that the process reads now: its kind (MESSAGE_N: none), the process that sent it, and
 * that one's life. */
enum message_kind wires_shown(const struct wires *wires, int process, int *from, uint64_t *life,
                              uint32_t *epoch);

/* Delivers everything that is due. */
void wires_step(struct wires *wires, int64_t now_ns);
int64_t wires_next_ns(const struct wires *wires);
/* The process runs again at this time at the latest. */
void wires_wake(struct wires *wires, int process, int64_t at_ns);
/* Returns a process that has mail, or whose wake came; -1: there is none. */
int wires_take_runnable(struct wires *wires);
void wires_make_runnable(struct wires *wires, int process);

/* Faults. */
void wires_cut(struct wires *wires, int from, int to, bool is_cut);
void wires_heal(struct wires *wires); /* all cuts, and losses */
void wires_lose(struct wires *wires, double loss);
void wires_pause(struct wires *wires, int process, int64_t until_ns); /* its timers wait, too */

const struct wires_count *wires_counts(const struct wires *wires, int process);
