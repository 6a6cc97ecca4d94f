/* HTTP/1.1 as bytes: strict parsing of request heads and chunked bodies, without sockets.
 *
 * It is stricter than RFC 9112 wherever lenient parsing has been abused for request smuggling.
 * Lines end in CRLF. There is no bare CR, LF or NUL, no folding and no space before a colon. There
 * is exactly one Host and at most one Content-Length (digits only). Transfer-Encoding is a single
 * "chunked", and never comes together with a Content-Length. A refusal closes the connection. */
#pragma once
#include "base/str.h"

enum {
    HTTP_HEAD_BYTES_MAX = 32 << 10,
    HTTP_HEADERS_MAX = 64,
};
enum api_http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_OPTIONS,
    HTTP_DELETE,
    HTTP_OTHER /* well formed, but none of these */
};
struct api_http_header {
    struct view name, value; /* the value without surrounding blanks */
};
struct api_http_head {
    enum api_http_method method;
    struct view path, query; /* as sent; the query without '?' */
    struct view host;
    bool is_1_0, keeps_alive, is_chunked, expects_continue;
    int64_t n_body; /* Content-Length, 0 when absent; meaningless when chunked */
    int n_headers;
    struct api_http_header headers[HTTP_HEADERS_MAX];
};

/* Finds the end of a head, which is CRLF CRLF. Returns the head's size in bytes, 0 while it is
 * incomplete. *at remembers how far earlier calls have searched (start at 0). */
size_t api_http_parse_extent(struct view bytes, size_t *at);
/* Parses a whole head (of the size that api_http_parse_extent returned). The views point into it.
 * Returns 0, or the HTTP status of a refusal with its sentence in *why. */
int api_http_parse_head(struct view bytes, struct api_http_head *head, const char **why);
/* Returns the value of a header, {NULL, 0} when it is absent. The name is in lower case. */
struct view api_http_parse_find(const struct api_http_head *head, const char *name);
/* Decodes %XX into out (zero-terminated). Returns false when the text is malformed, holds a NUL or
 * is longer than n_max - 1 bytes. */
bool api_http_parse_percent(struct view text, char *out, size_t n_max);

/* A chunked body as a state machine, which accepts any split of the stream. */
struct api_http_chunks {
    int state; /* private */
    uint64_t left;
    int n_digits;
    size_t n_line; /* bytes of the current extension or trailer line */
    size_t n_trailers;
};
enum api_http_chunks_said { HTTP_CHUNKS_MORE, HTTP_CHUNKS_DONE, HTTP_CHUNKS_BAD };
/* Takes bytes and appends those of the body to out. Sets *n_taken: all of them, unless the body is
 * done or malformed. */
enum api_http_chunks_said api_http_parse_chunks(struct api_http_chunks *chunks, struct view bytes,
                                                struct str *out, size_t *n_taken);
/* Finds a parameter of a query string, percent-decoded; the first one of its name counts. BAD: its
 * value is malformed, or has n_max bytes or more. */
enum api_http_query { API_HTTP_QUERY_ABSENT, API_HTTP_QUERY_FOUND, API_HTTP_QUERY_BAD };
enum api_http_query api_http_parse_query(struct view query, const char *name, char *out,
                                         size_t n_max);
