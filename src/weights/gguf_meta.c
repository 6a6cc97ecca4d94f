/* Values of GGUF metadata by key and type. Any integer type is accepted when an integer is
 * needed. */
#include "weights/gguf_meta.h"
#include "base/hash.h"
#include <math.h>
#include <string.h>

static const char *const type_names[GGUF_N] = {
    "a uint8", "an int8", "a uint16", "an int16", "a uint32", "an int32",  "a float32",
    "a bool",  "a text",  "an array", "a uint64", "an int64", "a float64",
};

const char *weights_gguf_meta_type(uint32_t type)
{
    return type < GGUF_N ? type_names[type] : "of no known type";
}

const struct weights_gguf_value *weights_gguf_meta_find(const struct weights_gguf *gguf,
                                                        const char *key)
{
    if (gguf->n_values == 0)
        return NULL;
    uint32_t index = map_find(&gguf->by_key, hash_fast(key, strlen(key), 0).low);
    if (index == MAP_NONE || !view_equal_text(gguf->values[index].key, key))
        return NULL;
    return &gguf->values[index];
}

static enum status refuse_type(const struct weights_gguf *gguf,
                               const struct weights_gguf_value *value, const char *wanted,
                               struct fault *fault)
{
    return fault_set(fault, STATUS_BAD_INPUT, "%s: %.*s is %s, expected %s", gguf->label,
                     (int)value->key.n, value->key.at, weights_gguf_meta_type(value->type), wanted);
}

/* Returns false when the value is not an integer that fits an int64. */
static bool to_i64(const struct weights_gguf_value *value, int64_t *out)
{
    uint64_t bits = 0;
    switch (value->type) {
    case GGUF_U8:
    case GGUF_U16:
    case GGUF_U32:
    case GGUF_U64:
        memcpy(&bits, value->at, value->n_bytes);
        *out = (int64_t)bits;
        return bits <= INT64_MAX;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64:
        if (value->at[value->n_bytes - 1] & 0x80)
            bits = UINT64_MAX;
        memcpy(&bits, value->at, value->n_bytes);
        memcpy(out, &bits, sizeof(*out));
        return true;
    default:
        return false;
    }
}

bool weights_gguf_meta_number(const struct weights_gguf_value *value, double *out)
{
    int64_t whole;
    float x;
    if (value->type == GGUF_BOOL) {
        *out = value->at[0] != 0;
    } else if (value->type == GGUF_F32) {
        memcpy(&x, value->at, sizeof(x));
        *out = (double)x;
    } else if (value->type == GGUF_F64) {
        memcpy(out, value->at, sizeof(*out));
    } else {
        if (!to_i64(value, &whole))
            return false;
        *out = (double)whole;
    }
    return true;
}

enum status weights_gguf_meta_i64(const struct weights_gguf *gguf, const char *key, int64_t least,
                                  int64_t most, int64_t *out, struct fault *fault)
{
    const struct weights_gguf_value *value = weights_gguf_meta_find(gguf, key);
    int64_t number;
    if (value == NULL)
        return STATUS_OK;
    if (!to_i64(value, &number))
        return refuse_type(gguf, value, "an integer", fault);
    if (number < least || number > most)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s is %lld, expected %lld to %lld",
                         gguf->label, key, (long long)number, (long long)least, (long long)most);
    *out = number;
    return STATUS_OK;
}

enum status weights_gguf_meta_f32(const struct weights_gguf *gguf, const char *key, float *out,
                                  struct fault *fault)
{
    const struct weights_gguf_value *value = weights_gguf_meta_find(gguf, key);
    if (value == NULL)
        return STATUS_OK;
    double number;
    bool is_float = value->type == GGUF_F32 || value->type == GGUF_F64;
    if (!is_float || !weights_gguf_meta_number(value, &number))
        return refuse_type(gguf, value, "a float", fault);
    if (!isfinite(number) || fabs(number) > 3e38)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %s isn't a finite number", gguf->label, key);
    *out = (float)number;
    return STATUS_OK;
}

enum status weights_gguf_meta_bool(const struct weights_gguf *gguf, const char *key, bool *out,
                                   struct fault *fault)
{
    const struct weights_gguf_value *value = weights_gguf_meta_find(gguf, key);
    if (value == NULL)
        return STATUS_OK;
    if (value->type != GGUF_BOOL)
        return refuse_type(gguf, value, "a bool", fault);
    *out = value->at[0] != 0;
    return STATUS_OK;
}

enum status weights_gguf_meta_text(const struct weights_gguf *gguf, const char *key,
                                   struct view *out, struct fault *fault)
{
    const struct weights_gguf_value *value = weights_gguf_meta_find(gguf, key);
    if (value == NULL)
        return STATUS_OK;
    if (value->type != GGUF_TEXT)
        return refuse_type(gguf, value, "a text", fault);
    *out = view_of((const char *)value->at, value->n_bytes);
    return STATUS_OK;
}

enum status weights_gguf_meta_array(const struct weights_gguf *gguf, const char *key, uint32_t of,
                                    const struct weights_gguf_value **out, struct fault *fault)
{
    const struct weights_gguf_value *value = weights_gguf_meta_find(gguf, key);
    *out = NULL;
    if (value == NULL)
        return STATUS_OK;
    if (value->type != GGUF_ARRAY)
        return refuse_type(gguf, value, "an array", fault);
    bool is_int = of == GGUF_I32 && value->of == GGUF_U32; /* both types are fine */
    if (value->of != of && !is_int)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: an element of %s is %s, expected %s",
                         gguf->label, key, weights_gguf_meta_type(value->of),
                         weights_gguf_meta_type(of));
    *out = value;
    return STATUS_OK;
}

struct view weights_gguf_meta_next_text(const struct weights_gguf_value *array, size_t *cursor)
{
    uint64_t n;
    CHECK(array->of == GGUF_TEXT && *cursor + sizeof(n) <= array->n_bytes);
    memcpy(&n, array->at + *cursor, sizeof(n));
    *cursor += sizeof(n);
    CHECK(n <= array->n_bytes - *cursor);
    struct view text = view_of((const char *)array->at + *cursor, (size_t)n);
    *cursor += (size_t)n;
    return text;
}
