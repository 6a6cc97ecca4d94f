/* The JSON reader: RFC 8259 and the three numbers that Python adds (NaN, Infinity, -Infinity),
 * otherwise strict.
 *
 * It makes one pass and decodes in place. A decoded text is never longer than its source (\uXXXX
 * is 6 bytes for at most 3, a pair of surrogates 12 for 4). So it stays at its place, and its
 * closing quote becomes the zero. */
#include "weights/json.h"
#include "base/file.h"
#include "base/mem.h"
#include "weights/foreign.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NODES_MIN 1024

struct parser {
    struct weights_json *json;
    char *at, *end, *start;
    const char *why; /* set after an error */
    int depth;
    uint32_t open[WEIGHTS_JSON_DEPTH_MAX]; /* nodes of the open arrays and objects */
};

static bool fail(struct parser *p, const char *why)
{
    if (p->why == NULL)
        p->why = why;
    return false;
}

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static struct weights_json_node *add_node(struct parser *p)
{
    struct weights_json *json = p->json;
    if (json->n == WEIGHTS_JSON_NODES_MAX) {
        fail(p, "too many values");
        return NULL;
    }
    if (json->n == json->capacity) {
        uint32_t capacity = json->capacity > 0 ? 2 * json->capacity : NODES_MIN;
        json->nodes = mem_grow(json->nodes, sizeof(*json->nodes) * json->capacity,
                               sizeof(*json->nodes) * capacity);
        json->capacity = capacity;
    }
    struct weights_json_node *node = &json->nodes[json->n++];
    *node = (struct weights_json_node){ .span = 1 };
    return node;
}

static bool read_hex(struct parser *p, uint32_t *out)
{
    if (p->end - p->at < 4)
        return fail(p, "a \\u that is cut short");
    *out = 0;
    for (int i = 0; i < 4; i++) {
        char c = *p->at++;
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit > 15)
            return fail(p, "a \\u without four hexadecimal digits");
        *out = *out << 4 | digit;
    }
    return true;
}

/* at is behind "\u". Writes the character and moves *to. */
static bool read_codepoint(struct parser *p, char **to)
{
    uint32_t high, low;
    if (!read_hex(p, &high))
        return false;
    if (high >= 0xD800 && high < 0xDC00) {
        if (p->end - p->at < 6 || p->at[0] != '\\' || p->at[1] != 'u')
            return fail(p, "half of a surrogate pair");
        p->at += 2;
        if (!read_hex(p, &low))
            return false;
        if (low < 0xDC00 || low > 0xDFFF)
            return fail(p, "half of a surrogate pair");
        high = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    }
    char bytes[4];
    int n = utf8_encode(high, bytes);
    if (n == 0)
        return fail(p, "half of a surrogate pair");
    memcpy(*to, bytes, (size_t)n);
    *to += n;
    return true;
}

static bool read_escape(struct parser *p, char **to)
{
    static const char from_c[] = "\"\\/bfnrt", to_c[] = "\"\\/\b\f\n\r\t";
    if (p->at == p->end)
        return fail(p, "a text that doesn't end");
    char c = *p->at++;
    if (c == 'u')
        return read_codepoint(p, to);
    const char *found = c != '\0' ? strchr(from_c, c) : NULL;
    if (found == NULL)
        return fail(p, "an unknown escape in a text");
    *(*to)++ = to_c[found - from_c];
    return true;
}

/* at is behind the opening quote, and afterwards behind the closing one. */
static bool read_text(struct parser *p, const char **text, uint32_t *n_bytes)
{
    char *start = p->at, *to = p->at;
    while (p->at < p->end && *p->at != '"') {
        unsigned char c = (unsigned char)*p->at;
        if (c == '\\') {
            p->at++;
            if (!read_escape(p, &to))
                return false;
        } else if (c < 0x20) {
            return fail(p, "a control character in a text");
        } else if (c < 0x80) {
            *to++ = *p->at++;
        } else {
            int n = utf8_decode(view_of(p->at, (size_t)(p->end - p->at)), NULL);
            if (n <= 0)
                return fail(p, "a text that isn't valid UTF-8");
            memmove(to, p->at, (size_t)n);
            to += n;
            p->at += n;
        }
    }
    if (p->at == p->end)
        return fail(p, "a text that doesn't end");
    p->at++;
    *to = '\0';
    *text = start;
    *n_bytes = (uint32_t)(to - start);
    return true;
}

static bool skip_digits(struct parser *p)
{
    char *start = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > start || fail(p, "a number without digits");
}

static bool read_word(struct parser *p, const char *word, uint8_t kind,
                      struct weights_json_node *node)
{
    size_t n = strlen(word);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return fail(p, "an unknown word");
    p->at += n;
    node->kind = kind;
    return true;
}

static bool read_number(struct parser *p, struct weights_json_node *node)
{
    char *start = p->at;
    node->kind = WEIGHTS_JSON_INTEGER;
    if (*p->at == '-')
        p->at++;
    if (p->at < p->end && (*p->at == 'I' || (*p->at == 'N' && p->at == start))) {
        if (!read_word(p, *p->at == 'I' ? "Infinity" : "NaN", WEIGHTS_JSON_REAL, node))
            return false;
        node->text = start;
        node->n = (uint32_t)(p->at - start);
        return true;
    }
    if (p->at < p->end && *p->at == '0')
        p->at++;
    else if (!skip_digits(p))
        return false;
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        node->kind = WEIGHTS_JSON_REAL;
        if (!skip_digits(p))
            return false;
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        node->kind = WEIGHTS_JSON_REAL;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
            p->at++;
        if (!skip_digits(p))
            return false;
    }
    node->text = start;
    node->n = (uint32_t)(p->at - start);
    return true;
}

/* Reads one value. An array or object is only opened, and its content follows as further values. */
static bool read_value(struct parser *p, struct weights_json_node *node)
{
    if (p->at == p->end)
        return fail(p, "it ends too early");
    switch (*p->at) {
    case '"':
        p->at++;
        if (!read_text(p, &node->text, &node->n))
            return false;
        node->kind =
            memchr(node->text, '\0', node->n) != NULL ? WEIGHTS_JSON_TEXT_NUL : WEIGHTS_JSON_TEXT;
        return true;
    case '{':
    case '[':
        if (p->depth == WEIGHTS_JSON_DEPTH_MAX)
            return fail(p, "nested too deeply");
        node->kind = *p->at++ == '{' ? WEIGHTS_JSON_OBJECT : WEIGHTS_JSON_ARRAY;
        p->open[p->depth++] = (uint32_t)(node - p->json->nodes);
        return true;
    case 't':
        return read_word(p, "true", WEIGHTS_JSON_TRUE, node);
    case 'f':
        return read_word(p, "false", WEIGHTS_JSON_FALSE, node);
    case 'n':
        return read_word(p, "null", WEIGHTS_JSON_NULL, node);
    default:
        if (*p->at == '-' || *p->at == 'I' || *p->at == 'N' || (*p->at >= '0' && *p->at <= '9'))
            return read_number(p, node);
        return fail(p, "something that isn't a value");
    }
}

/* Reads the next member or element of the innermost open value, or its end. */
static bool read_inside(struct parser *p)
{
    uint32_t outer = p->open[p->depth - 1];
    bool is_object = p->json->nodes[outer].kind == WEIGHTS_JSON_OBJECT;
    skip_space(p);
    if (p->at < p->end && *p->at == (is_object ? '}' : ']')) {
        p->at++;
        p->depth--;
        p->json->nodes[outer].span = p->json->n - outer;
        return true;
    }
    if (p->json->nodes[outer].n > 0) {
        if (p->at == p->end || *p->at != ',')
            return fail(p, "a comma or a closing bracket is missing");
        p->at++;
        skip_space(p);
    }
    struct weights_json_node *node = add_node(p);
    if (node == NULL)
        return false;
    p->json->nodes[outer].n++;
    if (is_object) {
        if (p->at == p->end || *p->at != '"')
            return fail(p, "a key in quotes is missing");
        p->at++;
        if (!read_text(p, &node->key, &node->key_bytes))
            return false;
        skip_space(p);
        if (p->at == p->end || *p->at != ':')
            return fail(p, "a colon is missing");
        p->at++;
        skip_space(p);
    }
    return read_value(p, node);
}

static bool read_document(struct parser *p)
{
    skip_space(p);
    struct weights_json_node *root = add_node(p);
    if (!read_value(p, root))
        return false;
    while (p->depth > 0)
        if (!read_inside(p))
            return false;
    skip_space(p);
    return p->at == p->end || fail(p, "something follows its end");
}

enum status weights_json_parse(struct weights_json *json, char *text, size_t n_bytes,
                               const char *label, struct fault *fault)
{
    *json = (struct weights_json){ .text = text };
    struct parser p = { .json = json, .at = text, .start = text, .end = text + n_bytes };
    enum status status = weights_foreign_pointer(view_of(text, n_bytes), label, fault);
    if (status != STATUS_OK) {
        weights_json_close(json);
        return status;
    }
    if (n_bytes <= UINT32_MAX ? read_document(&p) : fail(&p, "over 4 GiB"))
        return STATUS_OK;
    int line = 1; /* decoding moves only texts, so this is close enough */
    for (const char *c = p.start; c < p.at; c++)
        line += *c == '\n';
    weights_json_close(json);
    return fault_set(fault, STATUS_BAD_INPUT, "%s: not valid JSON at about line %d: %s", label,
                     line, p.why);
}

enum status weights_json_open(struct weights_json *json, const char *path, size_t n_bytes_max,
                              const char *label, struct fault *fault)
{
    char *text;
    size_t n_bytes;
    *json = (struct weights_json){ 0 };
    enum status status = file_read_regular(path, n_bytes_max, &text, &n_bytes, fault);
    return status != STATUS_OK ? status : weights_json_parse(json, text, n_bytes, label, fault);
}

void weights_json_close(struct weights_json *json)
{
    mem_give(json->text);
    mem_give(json->nodes);
    *json = (struct weights_json){ 0 };
}

const struct weights_json_node *weights_json_member(const struct weights_json_node *object,
                                                    const char *key)
{
    if (object == NULL || object->kind != WEIGHTS_JSON_OBJECT)
        return NULL;
    size_t n_key = strlen(key);
    const struct weights_json_node *member = object + 1, *found = NULL;
    for (uint32_t i = 0; i < object->n; i++, member = weights_json_next(member))
        if (member->key_bytes == n_key && memcmp(member->key, key, n_key) == 0)
            found = member;
    return found;
}

const struct weights_json_node *weights_json_find(const struct weights_json_node *object,
                                                  const char *key)
{
    const struct weights_json_node *member = weights_json_member(object, key);
    return member != NULL && member->kind != WEIGHTS_JSON_NULL ? member : NULL;
}

bool weights_json_is_text(const struct weights_json_node *value, const char *text)
{
    return value != NULL && value->kind == WEIGHTS_JSON_TEXT && strcmp(value->text, text) == 0;
}

/* Copies a number's digits with a zero behind them. Returns false when there are absurdly many. */
static bool copy_number(const struct weights_json_node *value, char text[64])
{
    if (value->n >= 64)
        return false;
    memcpy(text, value->text, value->n);
    text[value->n] = '\0';
    return true;
}

bool weights_json_to_i64(const struct weights_json_node *value, int64_t *out)
{
    char text[64];
    double real;
    if (value->kind == WEIGHTS_JSON_INTEGER)
        return copy_number(value, text) && parse_i64(text, out);
    if (!weights_json_to_f64(value, &real) || fabs(real) > 0x1p53 || real != floor(real))
        return false;
    *out = (int64_t)real; /* "4096.0" */
    return true;
}

bool weights_json_to_f64(const struct weights_json_node *value, double *out)
{
    char text[64];
    return (value->kind == WEIGHTS_JSON_INTEGER || value->kind == WEIGHTS_JSON_REAL) &&
           copy_number(value, text) && parse_f64(text, out) && isfinite(*out);
}

void weights_json_print(const struct weights_json_node *value, char *text, size_t n_bytes)
{
    static const char *const names[] = {
        [WEIGHTS_JSON_NULL] = "null",    [WEIGHTS_JSON_FALSE] = "false",
        [WEIGHTS_JSON_TRUE] = "true",    [WEIGHTS_JSON_TEXT_NUL] = "a text with U+0000",
        [WEIGHTS_JSON_ARRAY] = "a list", [WEIGHTS_JSON_OBJECT] = "an object",
    };
    int n = (int)(value->n < 60 ? value->n : 60);
    if (value->kind == WEIGHTS_JSON_TEXT)
        snprintf(text, n_bytes, "\"%.*s\"", n, value->text);
    else if (value->kind == WEIGHTS_JSON_INTEGER || value->kind == WEIGHTS_JSON_REAL)
        snprintf(text, n_bytes, "%.*s", n, value->text);
    else
        snprintf(text, n_bytes, "%s", names[value->kind]);
}

static enum status refuse(const struct weights_json_from *from, const char *key, const char *wanted)
{
    char found[96];
    weights_json_print(weights_json_member(from->object, key), found, sizeof(found));
    return fault_set(from->fault, STATUS_BAD_INPUT, "%s: %s isn't %s (it is %s)", from->label, key,
                     wanted, found);
}

enum status weights_json_i64(const struct weights_json_from *from, const char *key, int64_t least,
                             int64_t most, int64_t *out)
{
    const struct weights_json_node *value = weights_json_find(from->object, key);
    int64_t number;
    if (value == NULL)
        return STATUS_OK;
    if (!weights_json_to_i64(value, &number))
        return refuse(from, key, "an integer");
    if (number < least || number > most)
        return fault_set(from->fault, STATUS_BAD_INPUT, "%s: %s is %lld, expected %lld to %lld",
                         from->label, key, (long long)number, (long long)least, (long long)most);
    *out = number;
    return STATUS_OK;
}

enum status weights_json_f32(const struct weights_json_from *from, const char *key, float *out)
{
    const struct weights_json_node *value = weights_json_find(from->object, key);
    double number;
    if (value == NULL)
        return STATUS_OK;
    if (!weights_json_to_f64(value, &number) || fabs(number) > 3e38)
        return refuse(from, key, "a number that a float holds");
    *out = (float)number;
    return STATUS_OK;
}

enum status weights_json_bool(const struct weights_json_from *from, const char *key, bool *out)
{
    const struct weights_json_node *value = weights_json_find(from->object, key);
    if (value == NULL)
        return STATUS_OK;
    if (value->kind != WEIGHTS_JSON_TRUE && value->kind != WEIGHTS_JSON_FALSE)
        return refuse(from, key, "true or false");
    *out = value->kind == WEIGHTS_JSON_TRUE;
    return STATUS_OK;
}

enum status weights_json_text(const struct weights_json_from *from, const char *key,
                              const char **out)
{
    const struct weights_json_node *value = weights_json_find(from->object, key);
    if (value == NULL)
        return STATUS_OK;
    if (value->kind != WEIGHTS_JSON_TEXT)
        return refuse(from, key, "a text");
    *out = value->text;
    return STATUS_OK;
}
