/* Typed, range-checked reading of a JSON object's members.
 *
 * The first wrong member sets the error. An absent member or a null leaves the default as it is. */
#pragma once
#include "api/error.h"
#include <jansson.h>

struct api_fields {
    json_t *object;
    struct api_error *error;
};
/* Parses a body that must be one JSON object. Returns NULL with the error set. n_values_max bounds
 * the parser's memory, which grows with the number of values, not of bytes. */
json_t *api_fields_open(struct view body, size_t n_values_max, struct api_error *error);
json_t *api_fields_find(const struct api_fields *fields, const char *name); /* NULL: absent */
void api_fields_bool(const struct api_fields *fields, const char *name, bool *out);
void api_fields_i64(const struct api_fields *fields, const char *name, const int64_t range[2],
                    int64_t *out);
void api_fields_i32(const struct api_fields *fields, const char *name, const int64_t range[2],
                    int32_t *out);
void api_fields_f32(const struct api_fields *fields, const char *name, const double range[2],
                    float *out);
const char *api_fields_text(const struct api_fields *fields, const char *name); /* NULL: absent */
bool api_fields_is_whole(const json_t *value, int64_t *out); /* an integer, also as 16.0 */
