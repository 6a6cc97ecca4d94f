/* From a body to token ids: parse, find the model, render, tokenize, compare with the context.
 *
 * It does no I/O, so it runs on any thread: a catalog and its models do not change. */
#pragma once
#include "api/api_options.h"
#include "api/ask.h"
#include "api/catalog.h"
#include "api/family.h"
#include "api/guide.h"
#include "calls/parser.h"

struct api_prompts {
    struct api_ask ask;
    const struct api_family *family;
    const struct api_model *model;
    struct api_error error;
    int32_t n;
    struct api_prompt {
        int32_t n;                 /* tokens */
        const int32_t *ids;        /* (n) of a scored prompt, otherwise NULL */
        struct request_body *body; /* as it is submitted, except its seed */
    } * of;                        /* in the ask's pile */
    struct pile bodies;            /* they live until api_prompts_sent */
    int32_t n_stop_ids; /* the client's, then the model's end tokens unless they are ignored */
    int32_t stop_ids[LIMIT_STOP_IDS];
    int64_t n_echo_bytes;       /* bytes of prompts that are echoed, in all choices */
    int32_t n_tokens_max;       /* generated tokens of each choice */
    bool is_parsed;             /* answers may hold reasoning or calls */
    struct calls_parser parser; /* of each choice, as it begins */
    struct api_guide guide;     /* of all answers */
};
/* Returns false with the error set. The caller uses api_prompts_free in either case. The models of
 * the catalog outlive the prompts. */
bool api_prompts_make(struct api_prompts *prompts, const struct api_family *family,
                      struct view body, const struct api_past *past,
                      const struct api_options *options, const struct api_catalog *catalog);
/* Parses and translates a body into the ask. past may be NULL. Returns false with the error set. */
bool api_prompts_read(struct api_ask *ask, const struct api_family *family, struct view body,
                      const struct api_past *past, bool is_strict, struct api_error *error);
void api_prompts_free(struct api_prompts *prompts);
/* Called when all choices are submitted: frees the tokens, since the service has its own copy. */
void api_prompts_sent(struct api_prompts *prompts);
/* Sets the error: the model's regular expressions take too many steps for the text of a field. */
void api_prompts_refuse_costly(const struct api_model *model, const char *field,
                               struct api_error *error);
/* Returns false for a text (of this field) that is too long for the model's context, however few
 * tokens it has. Then the error is set as by api_prompts_refuse_longer. */
bool api_prompts_may_fit(const struct api_model *model, struct view text, const char *field,
                         struct api_error *error);
void api_prompts_refuse_longer(const struct api_model *model, const char *field,
                               struct api_error *error);
/* Returns the field of the request that has the texts, for errors. */
const char *api_prompts_field(const struct api_prompts *prompts);
/* Renders the messages into out. */
bool api_prompts_render(const struct api_ask *ask, const struct api_model *model, struct str *out,
                        struct api_error *error);
