/* A small HTTP client for the verbs that talk to a running server. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include <signal.h>

struct client_options {
    const char *server;          /* "127.0.0.1:7411", "https://models.example:7411" */
    const char *key;             /* admin or API key, NULL = none */
    const char *cacert;          /* PEM file of the authorities to trust, NULL = the system's */
    bool is_insecure;            /* trust any certificate */
    int64_t n_bytes_max;         /* of an answer; 0: no bound */
    int32_t timeout_ms;          /* of a whole call; 0: no bound */
    bool (*is_over)(void *self); /* asked once a second at least; true ends the call. NULL: none */
    void *self;
};
/* Checks that the options fit together: cacert and is_insecure need https://, and the file must
 * exist. */
enum status client_check(const struct client_options *options, struct fault *fault) MUST_USE;
/* Writes the address of a path: `server` without trailing slashes and without the /v1 that clients
 * of OpenAI's API call the base, then the path. Without a scheme it is http, or https where cacert
 * or is_insecure is given. */
void client_url(const struct client_options *options, const char *path, struct str *out);
/* Returns the list with this header at its end; NULL: a new list. */
struct curl_slist *client_header(struct curl_slist *list, const char *text);
/* Sets the trusted certificates of a handle of libcurl (a CURL). */
void client_trust(const struct client_options *options, void *call);
/* Returns advice on a transfer that failed for TLS, by its CURLcode: "; a sentence", or "". */
const char *client_advice(int curl_code);

/* Makes one call; body NULL: GET. *http_status is 0 when the server could not be reached, and the
 * sentence has the reason. */
enum status client_call(const struct client_options *options, const char *path, const char *body,
                        int *http_status, struct str *answer, struct fault *fault);

/* Several concurrent streaming calls: each chunk of bytes goes to its take. */
struct client_stream {
    const char *path, *body;
    void (*take)(void *self, const char *bytes, size_t n);
    void *self;
    int http_status;                     /* out */
    const volatile sig_atomic_t *is_off; /* all calls end when it is not 0; NULL: they go on */
};
enum status client_stream_all(const struct client_options *options, struct client_stream *streams,
                              int n, struct fault *fault);
