/* A small HTTP client for the verbs that talk to a running server. */
#pragma once
#include "base/status.h"
#include "base/str.h"

struct client_options {
    const char *server; /* "127.0.0.1:7411", "https://models.example:7411" */
    const char *key;    /* admin or API key, NULL = none */
};
/* The address of a path there: `server` with or without scheme, slashes behind it, and the /v1 that
 * clients of OpenAI's API call the base. */
void client_url(const char *server, const char *path, struct str *out);

/* One call; body NULL: GET. *http_status is 0 when the server could not be reached (the sentence
 * says so). */
enum status client_call(const struct client_options *options, const char *path, const char *body,
                        int *http_status, struct str *answer, struct fault *fault);

/* Several streaming calls at once: each chunk of bytes goes to its take. */
struct client_stream {
    const char *path, *body;
    void (*take)(void *self, const char *bytes, size_t n);
    void *self;
    int http_status; /* out */
};
enum status client_stream_all(const struct client_options *options, struct client_stream *streams,
                              int n, struct fault *fault);
