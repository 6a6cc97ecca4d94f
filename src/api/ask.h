/* A client's request: the body of a completion or a chat, read from JSON and checked.
 *
 * A field that would change the answer and that is not supported is refused by name. Other unknown
 * fields are ignored (or refused too when strict). Everything is stored in the ask's own pile. */
#pragma once
#include "api/error.h"
#include "api/guided.h"
#include "api/thinking.h"
#include "api/tools.h"
#include "base/pile.h"
#include "core/request.h"
#include "template/chat.h"

enum api_ask_kind { ASK_CHAT, ASK_COMPLETION, ASK_EMBED };
enum { ASK_VALUES_MAX = 2 << 20 }; /* JSON values of a body: each takes some 50 bytes */

struct api_ask_prompt { /* of a completion: text or ids */
    struct view text;   /* also set for ids once they are to be echoed */
    const int32_t *ids; /* NULL: text */
    int32_t n_ids;
};
struct api_ask {
    enum api_ask_kind kind;
    struct pile pile;
    const char *model; /* NULL: absent */
    int32_t n_prompts;
    struct api_ask_prompt *prompts; /* ASK_COMPLETION, ASK_EMBED */
    int32_t n_messages;
    struct chat_message *messages; /* ASK_CHAT */
    const char *kwargs_json;
    struct api_tools tools;
    bool add_generation_prompt, continue_final_message, add_special_tokens;
    bool echo, streams, include_usage, ignores_eos, include_stop, skips_special;
    bool wants_logprobs, has_seed, has_priority;
    bool keeps_tokens, keeps_prompts; /* the answer shows ids of its tokens, and the prompts */
    bool wants_scores, shows_scores;  /* of the prompt's tokens; as prompt_logprobs */
    bool has_timings;                 /* in each event of a stream */
    bool truncates;                   /* ASK_EMBED: texts are cut to the context */
    int32_t n_shown_scores;           /* alternatives in prompt_logprobs */
    int32_t n, n_tokens_max;          /* n_tokens_max: -1 = absent */
    int32_t priority;
    int64_t seed;
    struct sampling sampling;
    int32_t n_stops, n_stop_ids, n_biases;
    struct view stops[LIMIT_STOP_TEXTS];
    int32_t stop_ids[LIMIT_STOP_IDS];
    struct logit_bias *biases;
    struct api_guided guided;
    struct api_thinking thinking;
    const void *kept; /* what the family keeps for its answer, in the pile; NULL: nothing */
};
struct api_fields;
/* Reads a text, or an array of up to n_max texts, of token ids or of arrays of these. */
void api_ask_read_prompts(struct api_ask *ask, const struct api_fields *fields, const char *name,
                          size_t n_max);
/* Returns false with the error set. The caller frees the ask in either case. An ask of the kind
 * ASK_EMBED gets the model alone: its family reads the rest. */
bool api_ask_read(struct api_ask *ask, enum api_ask_kind kind, void *object, bool is_strict,
                  struct api_error *error); /* object: a json_t, given back by this */
bool api_ask_parse(struct api_ask *ask, enum api_ask_kind kind, struct view body, bool is_strict,
                   struct api_error *error);
void api_ask_free(struct api_ask *ask);
/* Checks everything that depends on the model's vocabulary. Returns false with the error set. */
bool api_ask_check(const struct api_ask *ask, int32_t n_vocabulary, struct api_error *error);
