/* Structured output: the fields of a request that say what its answer must look like. At most one
 * of them may be set. */
#pragma once
#include "api/api_options.h"
#include "api/ask.h"
#include "api/fields.h"

/* Returns whether a body may have such a field, so that a worker should read it. */
bool api_guided_may_have(struct view body);
/* Reads the fields into the ask's grammar. */
void api_guided_read(struct api_ask *ask, const struct api_fields *fields);
/* Compiles the grammar and prepares the model's vocabulary, so that engines find both. Sets the
 * error when the grammar is refused. May run on any thread. */
void api_guided_check(const struct api_ask *ask, const struct api_model *model,
                      struct grammar_cache *grammars, struct api_error *error);
