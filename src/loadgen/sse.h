/* Parses server-sent events strictly: it takes bytes as they come, and passes on the data of whole
 * events.
 *
 * After the HTML standard, section 9.2.6: lines end with LF, CR or CR LF; data lines are joined by
 * LF; a comment begins with a colon. An unknown field, a byte-order mark or an event of more than
 * LOADGEN_SSE_BYTES_MAX is an error. A browser would ignore it, but a measurement may not. */
#pragma once
#include "base/str.h"

enum { LOADGEN_SSE_BYTES_MAX = 4 << 20 };
struct loadgen_sse {
    struct str line, data;
    bool has_data, after_cr;
    const char *wrong; /* what was wrong first; NULL: nothing */
};
void loadgen_sse_init(struct loadgen_sse *sse);
void loadgen_sse_free(struct loadgen_sse *sse);
/* Calls take with each event's data, zero-terminated and valid until take returns. */
void loadgen_sse_feed(struct loadgen_sse *sse, const char *bytes, size_t n,
                      void (*take)(void *self, const char *data, size_t n), void *self);
/* Returns whether no event was begun and not ended. */
bool loadgen_sse_is_whole(const struct loadgen_sse *sse);
