/* A family of endpoints: how its requests become chats or completions, and how its answers, streams
 * and errors are written. */
#pragma once
#include "api/ask.h"
#include <jansson.h>

struct api_call;
struct api_choice;
struct api_fields;
struct api_responses_peers;
struct api_responses_store;
struct api_past { /* where a request that goes on from an earlier answer finds it */
    struct api_responses_store *responses; /* NULL: nowhere */
    uint64_t tenant;                       /* the hash of its name */
    struct api_responses_peers *peers;     /* that keep other answers; NULL: none */
};
struct api_family {
    enum api_ask_kind kind;
    enum api_ask_kind (*kind_of)(const json_t *body); /* where bodies differ in it; NULL: `kind` */
    const char *id_prefix;
    const char *stream_type; /* content type of a stream */
    const char *ping;        /* sent on a stream that is quiet */
    bool is_stored;          /* its id says which gateway has the answer */
    bool clamps_length;    /* an answer ends with the context, however many tokens were asked for */
    bool takes_any_budget; /* of reasoning, also for models without reasoning */
    /* Makes the body of a chat or a completion of the family's own, which it does not change.
     * Returns NULL with the error set. NULL: the body is read as it is. */
    json_t *(*translate)(const json_t *body, const struct api_past *past, struct api_error *error);
    /* ASK_EMBED: reads the body into the ask. Returns false with the error set. */
    bool (*read)(struct api_ask *ask, const struct api_fields *fields, bool is_strict);
    /* Keeps in the ask what the answer needs of the body. NULL: nothing. */
    void (*keep)(struct api_ask *ask, const json_t *body);
    /* Appends what the choice can show now, the end of a stream, a whole answer. A family without
     * streams has the last of these alone. */
    void (*chunk)(struct api_call *call, struct api_choice *choice, struct str *out);
    void (*last)(struct api_call *call, struct str *out);
    void (*whole)(struct api_call *call, struct str *out);
    /* Appends an error inside of a stream. */
    void (*fail)(struct api_call *call, const struct api_error *error, struct str *out);
};
