/* Mutual TLS between the machines of a cluster. Each end has a certificate that the cluster's own
 * authority signed, and each checks the other's name. */
#pragma once
#include "base/status.h"

struct ssl_ctx_st;
struct ssl_st;
/* Files in PEM. `ca` alone is trusted, never the system's authorities. */
struct cluster_tcp_tls {
    const char *cert, *key, *ca;
    const char *const *names; /* those that may connect to us; a peer that we call has its own */
    int n_names;
};

/* For both directions; NULL after a fault. Freed with cluster_tcp_tls_close. */
struct ssl_ctx_st *cluster_tcp_tls_open(const struct cluster_tcp_tls *options, struct fault *fault);
void cluster_tcp_tls_close(struct ssl_ctx_st *context);
/* Makes an end that trusts only a certificate with this name. With NULL, cluster_tcp_tls_is_known
 * checks the names after the handshake. Returns NULL when memory is short. */
struct ssl_st *cluster_tcp_tls_new(struct ssl_ctx_st *context, const char *name);
/* Has the other end a certificate with one of the names? */
bool cluster_tcp_tls_is_known(struct ssl_st *end, const char *const *names, int n_names);
