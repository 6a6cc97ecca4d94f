/* HTTP/1.1 as bytes: strict parsing of request heads and chunked bodies, without sockets.
 *
 * Stricter than the letter of RFC 9112 wherever leniency has been abused for request smuggling:
 * lines end in CRLF, no bare CR, LF or NUL, no folding, no space before a colon, exactly one Host,
 * at most one Content-Length (digits only), no Transfer-Encoding but a single "chunked", never
 * both. What is refused here closes the connection. */
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
    HTTP_OTHER /* well formed, but none of ours */
};
struct api_http_header {
    struct view name, value; /* the value without surrounding blanks */
};
struct api_http_head {
    enum api_http_method method;
    struct view path, query; /* as sent; the query without '?' */
    struct view host;
    bool is_1_0, keeps_alive, is_chunked, expects_continue;
    int64_t n_body; /* Content-Length, 0 without; of no meaning when chunked */
    int n_headers;
    struct api_http_header headers[HTTP_HEADERS_MAX];
};

/* The end of a head is CRLF CRLF. Returns the bytes that it takes, 0 while it is incomplete. *at
 * remembers how far earlier calls have looked (start at 0). */
size_t api_http_parse_extent(struct view bytes, size_t *at);
/* Parses a whole head (as long as api_http_parse_extent said). The views point into it. Returns 0,
 * or the HTTP status of a refusal with its sentence in *why. */
int api_http_parse_head(struct view bytes, struct api_http_head *head, const char **why);
/* The value of a header, {NULL, 0} when absent; name in lower case. */
struct view api_http_parse_find(const struct api_http_head *head, const char *name);
/* Undoes %XX into out (zero-terminated); false when malformed, a NUL or longer than n_max - 1. */
bool api_http_parse_percent(struct view text, char *out, size_t n_max);

/* A chunked body as a state machine: it survives any split of the stream. */
struct api_http_chunks {
    int state; /* private */
    uint64_t left;
    int n_digits;
    size_t n_line; /* bytes of the current extension or trailer line */
    size_t n_trailers;
};
enum api_http_chunks_said { HTTP_CHUNKS_MORE, HTTP_CHUNKS_DONE, HTTP_CHUNKS_BAD };
/* Takes bytes, appends the body's to out, sets *n_taken (all of them unless done or bad). */
enum api_http_chunks_said api_http_parse_chunks(struct api_http_chunks *chunks, struct view bytes,
                                                struct str *out, size_t *n_taken);
