/* The bus between machines: one actor's port, over TCP connections to its peers.
 *
 * The actor dials the peers that it knows by address (a gateway its nodes), and accepts others (a
 * node its gateways). A connection carries frames (cluster/frame.h) and is one end of a link
 * (cluster/link.h). When it breaks, the actor finds a CLOSED of session 0 from that peer in its
 * mail. No message of the old connection follows it. So a cut ends the session, and a new
 * connection begins with a new one.
 *
 *   dialled:   WAITING --its time comes--> CONNECTING --connected--> HELLO --hello came--> UP
 *                 ^------- refused, no hello in 5 s, backoff 0.1 to 5 s ------|
 *                 ^------- the actor took the CLOSED --------- OVER <--broken--------------|
 *   accepted:  FREE --accepted--> (CONNECTING: TLS) --> HELLO --hello came--> UP --broken--> OVER
 *                ^-- no hello in 5 s, or the oldest where a new one needs the place --|         |
 *                ^--------------------- the actor took the CLOSED ------------------------------|
 *
 * Bounds: for each connection, the bytes that wait to be sent, and those read and not yet taken,
 * have a limit. The number of connections has one, too. A connection ends when its peer sends other
 * bytes than frames, or sends no whole frame for 10 s (links beat each second). It also ends when
 * the peer takes nothing for 5 s while bytes wait for it.
 *
 * Everything happens on the thread of the event base. From the first bus on, the process ignores
 * SIGPIPE. */
#pragma once
#include "base/status.h"
#include "cluster/tcp_options.h"

struct cluster_tcp_bus;
/* NULL after a fault. */
struct cluster_tcp_bus *cluster_tcp_bus_open(const struct cluster_tcp_bus_options *options,
                                             struct fault *fault);
void cluster_tcp_bus_close(struct cluster_tcp_bus *bus);
struct bus_port cluster_tcp_bus_port(struct cluster_tcp_bus *bus);
int cluster_tcp_bus_listen_port(const struct cluster_tcp_bus *bus); /* 0: it does not listen */
/* Connections that are UP. */
int cluster_tcp_bus_n_up(const struct cluster_tcp_bus *bus);
bool cluster_tcp_bus_is_up(const struct cluster_tcp_bus *bus, uint16_t address);
/* Dials another host from now on at the place of this address, whose peer was given with host NULL
 * or was aimed before. host NULL: dials none. A connection that is there breaks. */
enum status cluster_tcp_bus_aim(struct cluster_tcp_bus *bus, uint16_t address, const char *host,
                                uint16_t port, struct fault *fault) MUST_USE;
/* Breaks the connection to this address, as a cut cable would; for tests and for operators. */
void cluster_tcp_bus_cut(struct cluster_tcp_bus *bus, uint16_t address);
