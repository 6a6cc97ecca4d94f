/* From a body to token ids: parse, find the model, render, tokenize, compare with the context.
 *
 * Pure of the I/O side, so it runs on any thread: a catalog and its models do not change. */
#pragma once
#include "api/api.h"
#include "api/ask.h"
#include "api/catalog.h"

struct api_prompts {
    struct api_ask ask;
    const struct api_model *model;
    struct api_error error;
    int32_t n;
    struct {
        const int32_t *ids;
        int32_t n;
    } * of;               /* in the ask's pile */
    int64_t n_echo_bytes; /* of prompts, in all choices */
    int32_t n_tokens_max; /* generated tokens of each choice */
};
/* False with the error set; api_prompts_free in either case. The models of the catalog outlive it.
 */
bool api_prompts_make(struct api_prompts *prompts, enum api_ask_kind kind, struct view body,
                      const struct api_options *options, const struct api_catalog *catalog);
void api_prompts_free(struct api_prompts *prompts);
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
