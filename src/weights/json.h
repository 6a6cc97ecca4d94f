/* A fast strict JSON reader for model files, since a tokenizer.json of 10 MB must not delay a
 * start.
 *
 * The text is decoded in place and owned by the document. Nodes are in one array in document order:
 * a value's first child is the node behind it, and its next sibling is `span` nodes further. All
 * texts and keys are valid UTF-8 and zero-terminated. A text that holds U+0000 has a kind of its
 * own, so that no reader takes a part of it for the whole. Depth, nodes and bytes are bounded. When
 * a key occurs twice, the last one counts, as in Python. NaN, Infinity and -Infinity, which Python
 * writes, are numbers that no typed access accepts. */
#pragma once
#include "base/status.h"
#include "base/str.h"

enum { WEIGHTS_JSON_DEPTH_MAX = 64, WEIGHTS_JSON_NODES_MAX = 8 << 20 };

enum weights_json_kind {
    WEIGHTS_JSON_NULL,
    WEIGHTS_JSON_FALSE,
    WEIGHTS_JSON_TRUE,
    WEIGHTS_JSON_INTEGER,
    WEIGHTS_JSON_REAL,
    WEIGHTS_JSON_TEXT,
    WEIGHTS_JSON_TEXT_NUL, /* a text that holds U+0000: only `n` gives its length */
    WEIGHTS_JSON_ARRAY,
    WEIGHTS_JSON_OBJECT,
};
struct weights_json_node {
    const char *key;  /* NULL unless a member of an object */
    const char *text; /* texts: decoded; numbers: as written, n bytes, not zero-terminated */
    uint32_t key_bytes;
    uint32_t n;    /* bytes of text, members or elements */
    uint32_t span; /* nodes of this value, itself included */
    uint8_t kind;
};
struct weights_json {
    char *text;
    struct weights_json_node *nodes; /* nodes[0] is the document */
    uint32_t n, capacity;
};

/* Takes text over (memory of mem_take with a zero byte after n_bytes), also on failure. Every fault
 * begins with the label: "config.json". */
enum status weights_json_parse(struct weights_json *json, char *text, size_t n_bytes,
                               const char *label, struct fault *fault) MUST_USE;
enum status weights_json_open(struct weights_json *json, const char *path, size_t n_bytes_max,
                              const char *label, struct fault *fault) MUST_USE;
void weights_json_close(struct weights_json *json); /* a zeroed one is fine */

/* Returns the member of an object, even a null. Returns NULL when it is absent or object is not an
 * object. */
const struct weights_json_node *weights_json_member(const struct weights_json_node *object,
                                                    const char *key);
/* Does the same, but also returns NULL for a member that is null. */
const struct weights_json_node *weights_json_find(const struct weights_json_node *object,
                                                  const char *key);
static inline const struct weights_json_node *weights_json_next(
    const struct weights_json_node *value)
{
    return value + value->span;
}
/* Writes the value as a message shows it: a text in quotes, or a number as written, at most 60
 * bytes of it. For other values it writes their kind ("a list"). */
void weights_json_print(const struct weights_json_node *value, char *text, size_t n_bytes);
bool weights_json_is_text(const struct weights_json_node *value, const char *text);
bool weights_json_to_i64(const struct weights_json_node *value, int64_t *out) MUST_USE;
bool weights_json_to_f64(const struct weights_json_node *value, double *out) MUST_USE;

/* Members by type. An absent or null one leaves *out alone, and another type is
 * STATUS_BAD_INPUT. */
struct weights_json_from {
    const struct weights_json_node *object;
    const char *label;
    struct fault *fault;
};
enum status weights_json_i64(const struct weights_json_from *from, const char *key, int64_t least,
                             int64_t most, int64_t *out) MUST_USE;
enum status weights_json_f32(const struct weights_json_from *from, const char *key,
                             float *out) MUST_USE;
enum status weights_json_bool(const struct weights_json_from *from, const char *key,
                              bool *out) MUST_USE;
enum status weights_json_text(const struct weights_json_from *from, const char *key,
                              const char **out) MUST_USE;
