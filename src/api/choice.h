/* One answer in the making: its request at the service, its tokens, its text and what is shown.
 *
 * OPEN --(stop token | stop string | length)--> CLOSED with a finish reason
 *   Tokens come in with absolute positions; positions that were seen already are skipped. Text is
 *   shown up to the first byte that may still begin a stop string. */
#pragma once
#include "api/ask.h"
#include "api/stops.h"
#include "calls/parser.h"
#include "core/service.h"
#include "text/tokenizer.h"

struct api_call;

struct api_token { /* kept only when logprobs or ids are wanted */
    int32_t id;
    size_t text_end;        /* of the choice's text after it, in bytes */
    int64_t n_chars_before; /* code points of the choice's text before it */
    struct token_logprobs logprobs;
};
struct api_choice {
    struct api_call *call;
    uint64_t id; /* of the request */
    uint32_t slot;
    int32_t index, prompt;                  /* index in the answer; which prompt */
    bool is_open, is_submitted, is_counted; /* is_counted: as a request that has ended */
    bool has_begun;                         /* some of it has been written */
    const char *finish_reason;              /* NULL while open */
    const char *stop_text;                  /* the stop string that ended it, NULL */
    int32_t stop_id;                        /* the client's stop token that ended it, -1 */
    int32_t n_prompt, n_generated, n_cached, n_preempted;
    int64_t device_ns;
    int64_t queue_ns; /* time until its first batch */
    uint64_t seed;
    struct detokenizer detokenizer;
    bool is_parsed;             /* its text holds reasoning or calls */
    struct calls_parser parser; /* used by told.c */
    struct str text;
    size_t n_shown, search_from; /* no stop string begins before search_from */
    size_t n_searched;           /* no stop string ends before */
    struct api_token *tokens;
    size_t n_tokens, n_tokens_max, n_tokens_shown;
    int64_t n_chars; /* of text[0..n_counted) */
    size_t n_counted;
    int64_t first_ns, last_ns;
    struct token_logprobs *scores; /* (n_prompt - 1) of a scored prompt, from its second token on */
    int32_t n_scores;              /* known ones */
    float *vector;                 /* (n_vector known ones) of the text, for ASK_EMBED */
    int32_t n_vector;
    int64_t n_echoed; /* code points of an echoed prompt that is scored */
};
struct api_choice_rules { /* the same for all choices of a call */
    const struct api_stops *stops;
    const int32_t *stop_ids; /* as submitted: the client's, then the model's end tokens */
    int32_t n_stop_ids, n_client_stop_ids, n_tokens_min;
    bool include_stop, keeps_tokens;
};
void api_choice_init(struct api_choice *choice, const struct tokenizer *tokenizer,
                     bool skips_special);
void api_choice_free(struct api_choice *choice);
/* Makes room for one more token, so that api_choice_add allocates nothing. Returns false when there
 * is no memory. */
bool api_choice_make_room(struct api_choice *choice, const struct api_choice_rules *rules,
                          int32_t id);
/* Takes one token. Returns true when the token ended the choice; then finish_reason is set. */
bool api_choice_add(struct api_choice *choice, const struct api_choice_rules *rules, int32_t id,
                    const struct token_logprobs *logprobs);
/* Takes scores of the prompt from a token's position on; known ones are skipped. Returns false when
 * there is no memory. */
bool api_choice_add_scores(struct api_choice *choice, int32_t position, int32_t n,
                           const void *scores);
/* Ends the choice for an outside reason ("stop", "length"). Bytes that were held back can be shown
 * then. */
void api_choice_end(struct api_choice *choice, const char *finish_reason);
/* Returns the text that can be shown now and was not shown before, and counts it as shown. */
struct view api_choice_show(struct api_choice *choice, const struct api_stops *stops);
/* Returns the tokens that belong to the text just shown. */
struct api_token *api_choice_show_tokens(struct api_choice *choice, size_t *n);
