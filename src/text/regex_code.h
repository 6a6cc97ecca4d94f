/* The program of a regular expression, which regex_code.c makes from a tree and regex.c runs. */
#pragma once
#include "text/regex_tree.h"

enum regex_op_kind {
    REGEX_OP_CODE,   /* the code point `value` */
    REGEX_OP_SET,    /* one of set `value` */
    REGEX_OP_RUN,    /* min to max of set or code `value`, by mode */
    REGEX_OP_SPLIT,  /* goes on at a; when that fails, at b */
    REGEX_OP_JUMP,   /* goes on at a */
    REGEX_OP_LOOK,   /* the inside up to its end matches (or not); goes on at a */
    REGEX_OP_ATOMIC, /* matches the inside up to its end; goes on at a */
    REGEX_OP_BACK,   /* `value` code points back */
    REGEX_OP_ASSERT, /* enum regex_assert in value */
    REGEX_OP_END,    /* of the program, a LOOK or an ATOMIC */
};
enum regex_mode { REGEX_GREEDY, REGEX_LAZY, REGEX_POSSESSIVE };
struct regex_op {
    uint8_t kind, mode;
    bool is_code, is_negative;
    uint32_t value;
    int32_t min, max; /* max: REGEX_ENDLESS */
    uint32_t a, b;
    uint32_t first; /* of a SPLIT: firsts[first] may begin a, firsts[first + 1] b */
};
/* The bytes that may begin a way. */
struct regex_first {
    uint64_t bytes[4]; /* its first byte */
    bool takes_nothing;
};
struct regex_program {
    struct regex_tree tree; /* its sets; the nodes are gone */
    struct regex_op *ops;
    uint32_t n_ops, n_firsts;
    struct regex_first *firsts; /* firsts[0]: of the whole program */
};
enum status regex_code_make(struct regex_program *program, struct fault *fault) MUST_USE;
void regex_code_free(struct regex_program *program);
