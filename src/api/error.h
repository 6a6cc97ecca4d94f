/* Errors, each with one clear sentence. OpenAI's shape is {"error": {message, type, param, code}},
 * Anthropic's {"type": "error", "error": {type, message}}, Ollama's {"error": message}. */
#pragma once
#include "base/str.h"

enum api_error_kind {
    ERROR_INVALID,      /* 400: the request is wrong, or needs what is not supported */
    ERROR_CONTEXT,      /* 400: prompt and answer don't fit the context */
    ERROR_TOO_LARGE,    /* 400: can never fit here */
    ERROR_KEY,          /* 401 */
    ERROR_ADMIN_KEY,    /* 403 */
    ERROR_ORIGIN,       /* 403: a web page that may not call, or a foreign host name */
    ERROR_NO_ROUTE,     /* 404 */
    ERROR_NO_MODEL,     /* 404 */
    ERROR_METHOD,       /* 405 */
    ERROR_ENCODING,     /* 415: a compressed body */
    ERROR_BUSY,         /* 409: impossible in the present state */
    ERROR_QUOTA,        /* 429: the key's quota is used up */
    ERROR_QUEUE_FULL,   /* 429: rejected, no work was done */
    ERROR_EVICTED,      /* 429: given up after work was done */
    ERROR_HOUSE,        /* 500 */
    ERROR_DRAINING,     /* 503 */
    ERROR_UNWELL,       /* 503: the engines make no progress */
    ERROR_LOADING,      /* 503: with the object `loading` */
    ERROR_LOAD_FAILED,  /* 503: the model will be tried again after a while */
    ERROR_PAUSED,       /* 503: an operator paused the model */
    ERROR_LATE,         /* 504: the deadline passed while it waited */
    ERROR_LATE_AT_WORK, /* 504: the deadline passed while it ran */
    ERROR_STOPPED,      /* 503: cut off at the end of a drain */
    ERROR_CROWDED,      /* 503: too many connections, or too little memory */
    ERROR_STARVED,      /* 503: the same, after work was done */
    ERROR_HTTP,         /* refused by the HTTP parser, which sets the status itself */
    ERROR_N,
};
enum api_error_shape { ERROR_OPENAI, ERROR_ANTHROPIC, ERROR_OLLAMA };
struct api_error {
    enum api_error_kind kind;
    bool is_set;
    int status;
    int retry_s;     /* for Retry-After; 0: the kind's */
    char param[64];  /* the field, empty = none */
    char text[640];  /* the sentence */
    char extra[256]; /* one more member of the page, as JSON with its leading comma */
};
void api_error_set(struct api_error *error, enum api_error_kind kind, const char *param,
                   const char *fmt, ...) PRINTF_LIKE(4, 5); /* only the first error is kept */
/* Prints the JSON page. */
void api_error_print(const struct api_error *error, enum api_error_shape shape, struct str *out);
const char *api_error_reason(const struct api_error *error); /* why it was dropped, or NULL */
int api_error_retry_after_s(const struct api_error *error);  /* 0 = no such header */
