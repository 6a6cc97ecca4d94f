/* Makes requests: seeded prompts of given lengths, and the JSON around them. */
#pragma once
#include "base/str.h"

enum { LOADGEN_WORDS = 256 };
enum loadgen_form { LOADGEN_TEXT, LOADGEN_IDS, LOADGEN_CHAT }; /* CHAT: text, as a user's message */
struct loadgen_ask {
    const char *model;
    enum loadgen_form form;
    const int32_t *tokens; /* (n_prompt) the ids, or which words stand there */
    int32_t n_prompt;
    int32_t n_output;     /* tokens that the answer is to have */
    int32_t n_tokens_max; /* sent to the server as the limit; n_output: sent as the truth */
    uint64_t seed;
    bool ends_by_stop; /* a stop token must be drawn as its last */
    bool ignores_eos;
};
/* Returns an id of the vocabulary for a virtual one. It is never one of the first three, which are
 * special in most vocabularies. n_vocabulary >= 4. */
int32_t loadgen_prompt_id(int32_t token, int32_t n_vocabulary);
/* Writes n_words words of the text. The tokens name the words (n_tokens; repeated from the start
 * when there are too few). */
void loadgen_prompt_text(const int32_t *tokens, int32_t n_tokens, int32_t n_words, struct str *out);
/* With ends_by_stop the answer ends by LOADGEN_PROMPT_STOP, an id of every vocabulary. The field
 * min_tokens keeps it from being drawn too early, and logit_bias makes it drawn as soon as it may
 * be. */
enum { LOADGEN_PROMPT_STOP = 3 };
/* Writes the body of POST /v1/completions, or of /v1/chat/completions. text: the prompt, except for
 * IDS. */
void loadgen_prompt_body(const struct loadgen_ask *ask, const char *text, int32_t n_vocabulary,
                         struct str *out);
