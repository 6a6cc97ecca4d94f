/* The listening socket, its certificate, and names of HTTP's status codes and methods. */
#pragma once
#include "base/status.h"

struct ssl_ctx_st;

/* Binds "ADDRESS:PORT", "[ADDRESS]:PORT" or ":PORT" and listens. Returns the socket, or -1 with the
 * fault set. */
int api_http_listen_open(const char *text, struct fault *fault);
/* Checks that the text is such an address. Only api_http_listen_open finds out whether it can be
 * bound. */
enum status api_http_listen_check(const char *text, struct fault *fault) MUST_USE;
int api_http_listen_port(int fd);
bool api_http_listen_is_local(int fd); /* true: only this machine can reach it */
/* Replaces *out (NULL at first) by the context for these files. A fault leaves *out alone. When
 * neither file is named it stays as it is, too: plain HTTP. */
enum status api_http_listen_tls(const char *cert, const char *key, struct ssl_ctx_st **out,
                                struct fault *fault) MUST_USE;
void api_http_listen_tls_free(struct ssl_ctx_st *tls);
/* Checks whether api_http_listen_tls would accept the files. */
enum status api_http_listen_tls_check(const char *cert, const char *key,
                                      struct fault *fault) MUST_USE;
void api_http_listen_raise(int32_t n_wanted); /* limit of descriptors, as far as allowed */
const char *api_http_listen_reason(int status);
