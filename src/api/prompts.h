/* From a body to token ids: parse, find the model, render, tokenize, compare with the context.
 *
 * Pure of the I/O side, so it runs on any thread: it reads the models, which never change. */
#pragma once
#include "api/api.h"
#include "api/ask.h"

struct api_prompts {
    struct api_ask ask;
    const struct api_model *model;
    struct api_error error;
    int32_t n;
    struct api_prompt {
        int32_t n;                 /* tokens */
        struct request_body *body; /* as it is submitted, but for its seed */
    } * of;                        /* in the ask's pile */
    struct pile bodies;            /* until api_prompts_sent */
    int32_t n_stop_ids; /* the client's, then the model's end tokens unless it ignores them */
    int32_t stop_ids[LIMIT_STOP_IDS];
    int64_t n_echo_bytes; /* of prompts, in all choices */
    int32_t n_tokens_max; /* generated tokens of each choice */
};
/* False with the error set; api_prompts_free in either case. */
bool api_prompts_make(struct api_prompts *prompts, enum api_ask_kind kind, struct view body,
                      const struct api_options *options);
void api_prompts_free(struct api_prompts *prompts);
/* All choices are submitted: the service has the tokens, and they are given back here. */
void api_prompts_sent(struct api_prompts *prompts);
/* By id or alias; NULL name: the only model there is. NULL with the error set. */
const struct api_model *api_prompts_find_model(const struct api_options *options, const char *name,
                                               struct api_error *error);
/* Says that the model's regular expressions take too many steps for the text of a field. */
void api_prompts_refuse_costly(const struct api_model *model, const char *field,
                               struct api_error *error);
/* False, with the error set as api_prompts_refuse_longer does, for so long a text (of this field)
 * that its tokens, however few, can't fit the model's context. */
bool api_prompts_may_fit(const struct api_model *model, struct view text, const char *field,
                         struct api_error *error);
void api_prompts_refuse_longer(const struct api_model *model, const char *field,
                               struct api_error *error);
/* Renders the messages into out. */
bool api_prompts_render(const struct api_ask *ask, const struct api_model *model, struct str *out,
                        struct api_error *error);
