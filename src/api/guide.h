/* The guide of an answer, as engines get it: the grammar that a client asks for, or the one of
 * calls that the answer may hold, behind reasoning where the model may think. */
#pragma once
#include "api/ask.h"

struct api_guide {
    int kind; /* enum grammar_kind; 0: the answer is free */
    struct view text;
    bool may_think;            /* ahead of the answer */
    bool jumps;                /* grammar_thought.jumps; set before it is made */
    struct api_guided offered; /* calls that the answer may hold, from the format's opening on */
};
/* Makes the guide. prompt: the rendered chat; NULL: a completion. Sets the error when a bound of
 * reasoning can't be kept. May run on any thread. */
void api_guide_make(struct api_guide *guide, struct api_ask *ask, const struct api_model *model,
                    const struct view *prompt, struct grammar_cache *grammars,
                    struct api_error *error);
