/* The result of anything that depends on outside input: a status, and one sentence that a person
 * can act on.
 *
 * Functions that read what people write return enum status and fill a struct fault, for example
 * "gguf: m.gguf: tensor blk.3.attn_q has 3 dimensions, expected 2". */
#pragma once
#include "base/base.h"

enum status {
    STATUS_OK = 0,
    STATUS_BAD_INPUT,   /* what was read is malformed or contradicts itself */
    STATUS_UNSUPPORTED, /* well formed, but not something that we do */
    STATUS_NOT_FOUND,
    STATUS_TOO_LARGE, /* over a named limit, or can never fit */
    STATUS_BUSY,      /* try again later */
    STATUS_CANCELLED,
    STATUS_IO, /* the operating system refused */
};

struct fault {
    char text[256]; /* UTF-8, one line, zero-terminated, empty when all is well */
};

/* Writes the sentence (cut to fit) and returns status, so that a caller can `return
 * fault_set(...)`. The fault may be NULL. */
enum status fault_set(struct fault *fault, enum status status, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

bool fault_is_text(
    const struct fault *fault); /* of one that came from outside: it ends in a zero */

const char *status_name(enum status status);
