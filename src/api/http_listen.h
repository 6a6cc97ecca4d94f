/* The listening socket, its certificate, and the words of HTTP. */
#pragma once
#include "base/status.h"

struct ssl_ctx_st;

/* Binds "ADDRESS:PORT", "[ADDRESS]:PORT" or ":PORT" and listens; -1 with the fault set. */
int api_http_listen_open(const char *text, struct fault *fault);
/* Is the text such an address? Whether it can be bound shows when it is. */
enum status api_http_listen_check(const char *text, struct fault *fault) MUST_USE;
int api_http_listen_port(int fd);
bool api_http_listen_is_local(int fd); /* nobody but this machine reaches it */
/* Replaces *out (NULL at first) by what the files hold; a fault leaves it. It stays as it is when
 * neither file is named: plain HTTP. */
enum status api_http_listen_tls(const char *cert, const char *key, struct ssl_ctx_st **out,
                                struct fault *fault) MUST_USE;
void api_http_listen_tls_free(struct ssl_ctx_st *tls);
/* Would api_http_listen_tls take the files? */
enum status api_http_listen_tls_check(const char *cert, const char *key,
                                      struct fault *fault) MUST_USE;
void api_http_listen_raise(int32_t n_wanted); /* file descriptors, as far as the system allows */
const char *api_http_listen_reason(int status);
