/* Structured output: the fields of a request that say what its answer must look like. At most one
 * of them may be set. */
#pragma once
#include "api/api_options.h"
#include "api/fields.h"
#include "api/tools.h"
#include "base/pile.h"

struct api_guided {
    int kind; /* enum grammar_kind */
    struct view text;
    const char *field; /* the one that says so */
    int64_t n_bytes;   /* of the compiled grammar, once it is checked */
};
/* Returns whether a body may have such a field, so that a worker should read it. */
bool api_guided_may_have(struct view body);
/* Reads the fields. The text lies in the pile. */
void api_guided_read(struct api_guided *guided, struct pile *pile, const struct api_fields *fields);
/* Makes the grammar of an answer that must call tools. */
void api_guided_need_calls(struct api_guided *guided, struct pile *pile,
                           const struct api_tools *tools, const struct api_fields *fields);
/* Makes the grammar of an answer that may call the tools that it is offered: free text, and calls
 * from the format's opening on. A tool whose schema is beyond our grammars takes any object.
 * `guided` stays empty for a format that is not constrained, and for tools that are too many. */
void api_guided_offer_calls(struct api_guided *guided, struct pile *pile,
                            const struct api_tools *tools, const struct api_model *model,
                            struct grammar_cache *grammars);
/* Compiles the grammar and prepares the model's vocabulary, so that engines find both. Sets the
 * error when the grammar is refused, or no token may end the answer. May run on any thread. */
void api_guided_check(struct api_guided *guided, const struct api_model *model,
                      struct grammar_cache *grammars, int32_t n_stop_ids, struct api_error *error);
