/* Certificates of a cluster, checked on both sides. */
#include "cluster/tcp_tls.h"

#include "base/mem.h"
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* An encrypted key would be asked about at the terminal. */
static int no_password(char *out, int n_max, int is_for_writing, void *self)
{
    (void)out, (void)n_max, (void)is_for_writing, (void)self;
    return -1;
}

static enum status use_files(SSL_CTX *context, const struct cluster_tcp_tls *o, struct fault *fault)
{
    if (SSL_CTX_use_certificate_chain_file(context, o->cert) != 1)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "bus: cert: %.120s cannot be read as a certificate in PEM", o->cert);
    if (SSL_CTX_use_PrivateKey_file(context, o->key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "bus: key: %.90s cannot be read as a private key, in PEM and not "
                         "encrypted, that belongs to %.90s",
                         o->key, o->cert);
    if (SSL_CTX_load_verify_locations(context, o->ca, NULL) != 1)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "bus: ca: %.120s cannot be read as certificates in PEM", o->ca);
    return STATUS_OK;
}

struct ssl_ctx_st *cluster_tcp_tls_open(const struct cluster_tcp_tls *options, struct fault *fault)
{
    if (options->cert == NULL || options->key == NULL || options->ca == NULL) {
        (void)fault_set(fault, STATUS_BAD_INPUT,
                        "bus: TLS needs all of cert, key and ca (the cluster's own authority)");
        return NULL;
    }
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    mem_need(context != NULL && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    if (use_files(context, options, fault) == STATUS_OK)
        return context;
    ERR_clear_error();
    SSL_CTX_free(context);
    return NULL;
}

void cluster_tcp_tls_close(struct ssl_ctx_st *context)
{
    SSL_CTX_free(context);
}

struct ssl_st *cluster_tcp_tls_new(struct ssl_ctx_st *context, const char *name)
{
    SSL *end = SSL_new(context);
    if (end == NULL || name == NULL)
        return end;
    SSL_set_hostflags(end, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (SSL_set1_host(end, name) == 1)
        return end;
    SSL_free(end);
    return NULL;
}

bool cluster_tcp_tls_is_known(struct ssl_st *end, const char *const *names, int n_names)
{
    X509 *certificate = SSL_get1_peer_certificate(end);
    bool is_known = false;
    if (certificate == NULL || SSL_get_verify_result(end) != X509_V_OK)
        n_names = 0;
    for (int i = 0; i < n_names && !is_known; i++)
        is_known = X509_check_host(certificate, names[i], 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS,
                                   NULL) == 1;
    X509_free(certificate);
    return is_known;
}
