/* Mutual TLS between the machines of a cluster: each end has a certificate that the cluster's own
 * authority signed, and each checks the other's name. */
#pragma once
#include "base/status.h"

struct ssl_ctx_st;
struct ssl_st;
/* Files in PEM. `ca` alone is trusted, never the system's authorities. */
struct cluster_tcp_tls {
    const char *cert, *key, *ca;
    const char *const *names; /* that may connect to us; a peer that we call has its own */
    int n_names;
};

/* For both directions; NULL after a fault. Freed with cluster_tcp_tls_close. */
struct ssl_ctx_st *cluster_tcp_tls_open(const struct cluster_tcp_tls *options, struct fault *fault);
void cluster_tcp_tls_close(struct ssl_ctx_st *context);
/* A new end, which trusts a certificate with this name only; NULL: the names are checked when the
 * handshake is over, by cluster_tcp_tls_is_known. NULL: there is no memory for it. */
struct ssl_st *cluster_tcp_tls_new(struct ssl_ctx_st *context, const char *name);
/* Has the other end a certificate with one of the names? */
bool cluster_tcp_tls_is_known(struct ssl_st *end, const char *const *names, int n_names);
