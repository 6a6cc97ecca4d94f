/* Bodies of requests for embeddings and for scores of pairs of texts: OpenAI's, Ollama's, and those
 * of rerankers. */
#pragma once
#include "api/family.h"
#include "api/fields.h"

enum api_embed_form {
    EMBED_OPENAI,
    EMBED_OLLAMA,
    EMBED_OLLAMA_ONE, /* the older one: a single prompt */
    EMBED_RERANK,
    EMBED_SCORE,
};
struct api_embed { /* what such an ask keeps */
    enum api_embed_form form;
    bool is_base64, has_documents; /* has_documents: the answer repeats them */
    int32_t dimensions;            /* 0: all */
    int32_t n_top;                 /* RERANK: results that are shown; 0: all */
    /* RERANK, SCORE: the first texts of the pairs are the first prompts of the ask, the second ones
     * follow. A single first text belongs to each pair. */
    int32_t n_first;
};
/* Each reads a body of its form into the ask. False: the error is set. */
bool api_embed_ask_openai(struct api_ask *ask, const struct api_fields *fields, bool is_strict);
bool api_embed_ask_ollama(struct api_ask *ask, const struct api_fields *fields, bool is_strict);
bool api_embed_ask_ollama_one(struct api_ask *ask, const struct api_fields *fields, bool is_strict);
bool api_embed_ask_rerank(struct api_ask *ask, const struct api_fields *fields, bool is_strict);
bool api_embed_ask_score(struct api_ask *ask, const struct api_fields *fields, bool is_strict);
static inline const struct api_embed *api_embed_of(const struct api_ask *ask)
{
    return ask->kept;
}
/* Returns how many pairs of texts the ask has; 0: it is not about pairs. */
static inline int32_t api_embed_n_pairs(const struct api_ask *ask)
{
    return api_embed_of(ask)->n_first > 0 ? ask->n_prompts - api_embed_of(ask)->n_first : 0;
}
