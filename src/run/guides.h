/* The grammars of an executor's requests: where each of them is, and the masks of a pass.
 *
 * A guide is a function of the grammar and the generated tokens. It is kept by slot between passes,
 * and made anew from the tokens when the slot has another request. So preemption, moves and
 * restarts change no mask. */
#pragma once
#include "compute/pass.h"
#include "core/request.h"
#include "grammar/cache.h"

struct tokenizer;
struct run_guides;

/* cache: NULL where no request has a grammar. */
struct run_guides *run_guides_open(struct grammar_cache *cache);
void run_guides_close(struct run_guides *guides);
/* Sets and removes the tokenizer of a service, for its model's vocabulary of n tokens. */
void run_guides_put(struct run_guides *guides, int service, const struct tokenizer *tokenizer,
                    int32_t n_vocabulary);
void run_guides_remove(struct run_guides *guides, int service);
/* Prepares the vocabulary of a tokenizer, which otherwise the first request with a grammar does. */
void run_guides_prepare_vocabulary(struct grammar_cache *cache, const struct tokenizer *tokenizer,
                                   int32_t n_vocabulary);
/* Compiles a body's grammar and prepares the vocabulary, so that the engine finds both. */
void run_guides_prepare(struct grammar_cache *cache, const struct tokenizer *tokenizer,
                        int32_t n_vocabulary, const struct request_body *body);
/* Fills the mask of an ask of requests[slot]: ids that its grammar allows behind its history, and
 * its stop ids where the text is complete. Returns false when the answer can't go on by its
 * grammar; then some id is allowed, since a pass needs one. */
bool run_guides_fill(struct run_guides *guides, const struct request *requests, uint32_t slot,
                     const struct compute_ask *ask, uint32_t *mask);
/* Appends tokens of bytes that the grammar forces behind those of the ask, whose tokens these are:
 * exactly the tokens that draws would give, since masks allow no other ones there. Returns how
 * many, at most n_max. 0 unless the request's body asks for it. */
int32_t run_guides_jump(struct run_guides *guides, const struct request *requests, uint32_t slot,
                        const struct compute_ask *ask, int32_t *tokens, int32_t n_max);
