/* Text: a growing buffer for what we write, views for what we read, and strict UTF-8. */
#pragma once
#include "base/base.h"

struct str {
    char *at; /* zero-terminated unless NULL */
    size_t n, capacity;
};
void str_init(struct str *str);
void str_free(struct str *str);
void str_clear(struct str *str);
void str_add(struct str *str, const char *bytes, size_t n);
void str_add_text(struct str *str, const char *text);
void str_add_char(struct str *str, char c);
void str_printf(struct str *str, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Makes room for n_more bytes, so that adding them takes no memory. Returns false, with the text
 * unchanged, when there is no memory (mem_try). */
bool str_try_reserve(struct str *str, size_t n_more) MUST_USE;

struct view {
    const char *at;
    size_t n;
};
static inline struct view view_of(const char *at, size_t n)
{
    return (struct view){ at, n };
}
struct view view_text(const char *text);
bool view_equal(struct view a, struct view b);
bool view_equal_text(struct view a, const char *text);
bool view_starts(struct view a, const char *prefix);

/* Returns the length in bytes of the valid UTF-8 sequence at the start of view: 1..4, 0 when it is
 * invalid, -1 when it is cut short. Overlong forms, surrogates and anything over U+10FFFF are
 * invalid. If the result is > 0 and codepoint is not NULL, *codepoint is set. */
int utf8_decode(struct view v, uint32_t *codepoint);
int utf8_encode(uint32_t codepoint,
                char out[4]); /* bytes written; 0 for what is not a scalar value */
bool utf8_is_valid(struct view v);
/* Makes any text one line of valid UTF-8 without terminal controls. Each byte that is not UTF-8
 * becomes "?". A control character becomes one space for each of its bytes. */
void utf8_tame(char *text);
bool utf8_is_space(uint32_t codepoint); /* Unicode's White_Space */

/* Parse a whole text as a number. False: it is not one, is out of range or has a tail. */
bool parse_i64(const char *text, int64_t *out) MUST_USE;
bool parse_f64(const char *text, double *out) MUST_USE;
bool parse_bytes(const char *text, int64_t *out)
    MUST_USE; /* "512M", "2GiB", "1e9" -> bytes (K, M, G, T are powers of 1024) */
/* "10m", "1.5s", "200ms", "5" (seconds); a negative one gives -1: no limit */
bool parse_duration_ns(const char *text, int64_t *out) MUST_USE;
