/* Sets fields of a struct by text, "name=value", from a table of rows. A configuration, a preset or
 * a command line sets a policy's fields this way. */
#pragma once
#include "base/status.h"

enum settings_kind {
    SETTINGS_COUNT,        /* int32_t */
    SETTINGS_SEED,         /* uint64_t */
    SETTINGS_BYTES,        /* int64_t */
    SETTINGS_MILLISECONDS, /* int64_t in nanoseconds, written in milliseconds */
    SETTINGS_NUMBER,       /* double */
    SETTINGS_FLAG,         /* bool, written 0 or 1 */
    SETTINGS_WORD,         /* an enum from 0 on, written as its word in `words` */
};
enum { SETTINGS_WORDS = 3 };
struct settings_row {
    const char *name;
    enum settings_kind kind;
    size_t offset;
    double min, max;          /* as written */
    const char *const *words; /* (SETTINGS_WORDS) of WORD */
};
#define SETTINGS_ROW(type, field, kind, min, max, words)                                           \
    {                                                                                              \
#field, kind, offsetof(type, field), min, max, words                                       \
    }

/* Returns the row that "name=value" names; NULL when none has that name. */
const struct settings_row *settings_find(const struct settings_row *rows, size_t n,
                                         const char *text);
/* Sets the row's field in the struct to the value behind the "=" of text. A value out of range
 * changes nothing and returns STATUS_BAD_INPUT. */
enum status settings_set(void *fields, const struct settings_row *row, const char *text,
                         struct fault *fault) MUST_USE;
