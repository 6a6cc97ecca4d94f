/* An HTTP/1.1 server on one thread: exchanges in, replies and event streams out. Only the files
 * called http_* use libevent; this header shows nothing of it.
 *
 * A handler gets an exchange when its request is whole (head and body). It answers at once or
 * later: reply, or begin, chunk*, end. A client may leave first (FIN, reset, or a reader that lags
 * by more than HTTP_LAG_BYTES_MAX). Then the event loop calls on_gone once and the exchange is
 * over. All functions are for the thread of api_http_run, except wakes through a watched fd.
 *
 * Connections are bounded. When all are taken, a new one replaces one that has no request under
 * way: the longest idle one of the address that has the most of these. Connections with a request
 * are shared between addresses by base/fair.h. When there is no place, requests that is_vital
 * accepts are still answered, on spare connections. */
#pragma once
#include "api/http_exchange.h"
#include "base/status.h"

struct api_http;
enum status api_http_open(struct api_http **out, const struct api_http_options *options,
                          struct fault *fault) MUST_USE;
void api_http_close(struct api_http *http); /* drops all connections; on_gone is called for each */
int api_http_port(const struct api_http *http);
bool api_http_is_local(const struct api_http *http); /* true: only this machine can reach it */
void api_http_run(struct api_http *http);            /* until api_http_stop */
void api_http_stop(struct api_http *http);
/* Makes every further reply close its connection. */
void api_http_drain(struct api_http *http);
int32_t api_http_n_connections(const struct api_http *http);
/* Calls f(arg) whenever fd is readable; f must clear it. At most 8 watches. */
void api_http_watch(struct api_http *http, int fd, void (*f)(void *arg), void *arg);
/* Calls f(arg) whenever the signal arrives. After api_http_close the signal is ignored. */
void api_http_watch_signal(struct api_http *http, int number, void (*f)(void *arg), void *arg);
void api_http_wake_at(struct api_http *http, int64_t at_ns); /* replaces an earlier time */

struct api_parties *api_http_parties(const struct api_http *http);

/* Moves the body out of the exchange, so that it can be read even after the client has left. */
void api_http_take_body(struct api_http_exchange *x, struct str *body);
/* Returns the bytes of answers and streams that wait for their readers. */
int64_t api_http_unsent_bytes(const struct api_http *http);

void api_http_header(struct api_http_exchange *x, const char *name, const char *value);
/* Replies. When the body is large and too many bytes already wait for readers, on_bad replies
 * instead. */
void api_http_reply(struct api_http_exchange *x, int status, const char *type, struct view body);
/* Like api_http_reply, but takes the body over instead of copying it. */
void api_http_reply_text(struct api_http_exchange *x, int status, const char *type,
                         struct str *body);
void api_http_begin(struct api_http_exchange *x, int status, const char *type);
void api_http_chunk(struct api_http_exchange *x, struct view bytes); /* not empty */
void api_http_end(struct api_http_exchange *x);
