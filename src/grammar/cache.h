/* Compiled grammars and prepared vocabularies of one process, shared by its threads.
 *
 * A grammar is compiled once, by the thread that needs it first: a worker of the API, or the thread
 * of a node that takes a submission. Engines then find it. Grammars in use stay; of the others the
 * ones that were used last, up to a number of bytes. Texts that were refused last are remembered
 * with their sentences, so that sending one again costs nothing. */
#pragma once
#include "grammar/grammar.h"

struct grammar_cache;
struct grammar_cache *grammar_cache_open(int64_t n_bytes_max);
void grammar_cache_close(struct grammar_cache *cache); /* nothing is in use */
/* Finds or compiles a grammar, in use until grammar_cache_put. */
enum status grammar_cache_take(struct grammar_cache *cache, enum grammar_kind kind,
                               struct view text, const struct grammar **out,
                               struct fault *fault) MUST_USE;
void grammar_cache_put(struct grammar_cache *cache, const struct grammar *grammar);

/* The pieces of a tokenizer, which is named by its address. */
struct grammar_pieces {
    const void *tokenizer;
    int32_t n;                                                       /* of the model's vocabulary */
    void (*add)(const void *tokenizer, int32_t id, struct str *out); /* appends a token's bytes */
};
/* Finds or prepares the vocabulary of a tokenizer. It stays until it is forgotten. */
const struct grammar_vocabulary *grammar_cache_vocabulary(struct grammar_cache *cache,
                                                          const struct grammar_pieces *pieces);
/* Called before the tokenizer closes, when nothing uses its vocabulary any more. */
void grammar_cache_forget(struct grammar_cache *cache, const void *tokenizer);
