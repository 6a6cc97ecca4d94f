/* The verbs that ask a running server: their options, and calls to it. */
#pragma once
#include "base/str.h"
#include "config/config.h"
#include "loadgen/client.h"
#include <jansson.h>

enum { REMOTE_WHY_BYTES = 1024 };
struct remote {
    struct client_options client;
    const char
        *words[2]; /* the model, of verbs that take one, and the place of a pin; an address */
    bool is_json, has_flag; /* has_flag: --wide or --once was given */
    struct config *config;  /* with the store; NULL: the verb asks a server alone */
};
/* WIDE, ONCE: it has the option of that name. ADDRESS: the server is a word, and no option. */
enum remote_takes {
    REMOTE_TAKES_NOTHING,
    REMOTE_TAKES_NAME,
    REMOTE_TAKES_WIDE,
    REMOTE_TAKES_ONCE,
    REMOTE_TAKES_PLACE,
    REMOTE_TAKES_ADDRESS
};
/* Parses a verb's command line, after `config` was set. Returns false when it is wrong. */
bool remote_call_parse(struct remote *remote, const char *doc, enum remote_takes takes, int argc,
                       char **argv);
/* Makes one call whose answer is a JSON object; body NULL: GET. Returns NULL with the sentence when
 * it failed. Free the answer in either case. */
json_t *remote_call_try(const struct remote *remote, const char *path, const char *body,
                        struct str *answer, char why[REMOTE_WHY_BYTES]);
/* Does the same, and prints the sentence. */
json_t *remote_call_ask(const struct remote *remote, const char *path, const char *body,
                        struct str *answer);
