/* Writes JSON into a str: a small fast writer for tokens, records and reports. (jansson does the
 * reading.)
 *
 * Strings are escaped and must be valid UTF-8 (invalid bytes become U+FFFD). The writer puts the
 * commas. */
#pragma once
#include "base/str.h"

struct json_out {
    struct str *to;
    uint64_t has_member; /* bit per depth */
    int depth;
    bool after_key;
};
void json_out_init(struct json_out *json, struct str *to);
void json_out_open(struct json_out *json, char bracket);  /* '{' or '[' */
void json_out_close(struct json_out *json, char bracket); /* '}' or ']' */
void json_out_key(struct json_out *json, const char *key);
void json_out_text(struct json_out *json, const char *text); /* NULL writes null */
void json_out_view(struct json_out *json, struct view text);
void json_out_i64(struct json_out *json, int64_t value);
void json_out_f64(struct json_out *json, double value); /* %.9g; NaN and infinities become null */
void json_out_bool(struct json_out *json, bool value);
void json_out_null(struct json_out *json);
/* These write a key with its value. */
static inline void json_out_key_text(struct json_out *json, const char *key, const char *text)
{
    json_out_key(json, key);
    json_out_text(json, text);
}
static inline void json_out_key_i64(struct json_out *json, const char *key, int64_t value)
{
    json_out_key(json, key);
    json_out_i64(json, value);
}
static inline void json_out_key_f64(struct json_out *json, const char *key, double value)
{
    json_out_key(json, key);
    json_out_f64(json, value);
}
static inline void json_out_key_bool(struct json_out *json, const char *key, bool value)
{
    json_out_key(json, key);
    json_out_bool(json, value);
}
