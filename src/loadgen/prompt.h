/* What is asked: seeded prompts of given lengths, and the JSON around them. */
#pragma once
#include "base/str.h"

enum { LOADGEN_WORDS = 256 };
enum loadgen_form { LOADGEN_TEXT, LOADGEN_IDS, LOADGEN_CHAT }; /* CHAT: text, as what a user says */
struct loadgen_ask {
    const char *model;
    enum loadgen_form form;
    const int32_t *tokens; /* (n_prompt) the ids, or which words stand there */
    int32_t n_prompt;
    int32_t n_output;     /* tokens that the answer is to have */
    int32_t n_tokens_max; /* that the server is told it may have; n_output: it is told the truth */
    uint64_t seed;
    bool ends_by_stop; /* a stop token that must be drawn as its last */
    bool ignores_eos;
};
/* An id of the vocabulary for a virtual one: never one of the first three, which are special in
 * most. n_vocabulary >= 4. */
int32_t loadgen_prompt_id(int32_t token, int32_t n_vocabulary);
/* n_words words of the text whose words are named by tokens (n_tokens; from the start again when
 * there are not enough). */
void loadgen_prompt_text(const int32_t *tokens, int32_t n_tokens, int32_t n_words, struct str *out);
/* With ends_by_stop the answer ends by LOADGEN_PROMPT_STOP, an id of every vocabulary: min_tokens
 * keeps it from being drawn before, and logit_bias has it drawn as soon as it may be. */
enum { LOADGEN_PROMPT_STOP = 3 };
/* The body of POST /v1/completions, or of /v1/chat/completions. text: the prompt but of IDS. */
void loadgen_prompt_body(const struct loadgen_ask *ask, const char *text, int32_t n_vocabulary,
                         struct str *out);
