/* Regular expressions of model files, read as Oniguruma reads them (HF tokenizers' library) and
 * searched as the tokenizers library searches.
 *
 * The meaning of a pattern is fixed here, and does not depend on a library of the machine. Sets of
 * code points are those of Unicode 16.0. A construct that may have another meaning is refused by
 * name. Each step of matching is counted, so that a pattern of a hostile file takes a bounded time
 * per text. */
#pragma once
#include "base/status.h"
#include "base/str.h"

struct regex {
    struct regex_program *program;
};
enum status regex_open(struct regex *regex, struct view pattern, struct fault *fault) MUST_USE;
/* Opens an expression that matches exactly this text. */
enum status regex_open_text(struct regex *regex, struct view text, struct fault *fault) MUST_USE;
void regex_close(struct regex *regex); /* a zeroed one is fine */
/* Returns whether a match may be empty; also true when that is unknown. */
bool regex_may_be_empty(const struct regex *regex);

/* One thread's memory for matching with any regex, and the steps that a text may still take. */
struct regex_work {
    struct regex_frame *frames; /* private */
    size_t n_frames, capacity;  /* private */
    int64_t n_steps_left;
    bool is_spent; /* the steps ran out, so a missing match proves nothing */
};
void regex_work_init(struct regex_work *work); /* with the steps of a short text */
void regex_work_free(struct regex_work *work);
/* Grants the steps for a text of n_bytes, for all patterns together. */
void regex_work_grant(struct regex_work *work, size_t n_bytes);

/* A walk over the matches in a text, which must be valid UTF-8. Matches may be empty. An empty
 * match that begins at the end of the last one is skipped, as in Oniguruma's bindings. */
struct regex_walk {
    const struct regex *regex;
    struct regex_work *work;
    struct view text;
    size_t from, last_end; /* private; last_end SIZE_MAX: no match yet */
};
void regex_walk_begin(struct regex_walk *walk, const struct regex *regex, struct regex_work *work,
                      struct view text);
/* Sets the next match: bytes bounds[0]..bounds[1]-1. Returns false when there is none, or
 * work->is_spent. */
bool regex_walk_next(struct regex_walk *walk, size_t bounds[2]);
