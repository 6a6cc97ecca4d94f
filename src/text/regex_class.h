/* The bracketed classes and escapes of regular expressions. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include "text/letters.h"

struct regex_tree;

struct regex_reader {
    struct regex_tree *tree;
    struct fault *fault;
    struct view pattern;
    size_t at;
    bool ignores_case, dot_is_all;
    uint32_t last_code; /* the last literal when case is ignored, 0: none */
    int depth;
};

/* Names the unsupported construct and its byte. Always returns STATUS_UNSUPPORTED. */
enum status regex_class_refuse(const struct regex_reader *r, size_t at, const char *what) MUST_USE;

/* Reads a class behind its '[' into set, which the caller has zeroed. */
enum status regex_class_read(struct regex_reader *r, struct letters *set, int depth) MUST_USE;

/* Reads an escape behind its backslash. It stands for one code point or a set; is_set tells which.
 * A set is added to `set`. Any other escape is refused. */
enum status regex_class_escape(struct regex_reader *r, bool is_in_class, struct letters *set,
                               uint32_t *code, bool *is_set) MUST_USE;
