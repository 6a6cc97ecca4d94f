/* Reads replies and the lines of watches. */
#include "etcd/answer.h"

#include "base/mem.h"
#include <jansson.h>
#include <openssl/evp.h>
#include <string.h>

/* Codes of gRPC with which etcd refuses a call for good. */
enum {
    CODE_INVALID = 3,
    CODE_NOT_FOUND = 5,
    CODE_EXISTS = 6,
    CODE_DENIED = 7,
    CODE_EXHAUSTED = 8,
    CODE_PRECONDITION = 9,
    CODE_RANGE = 11,
    CODE_UNIMPLEMENTED = 12,
    CODE_UNAUTHENTICATED = 16,
};

/* A 64-bit number, which is text in most replies; 0 when it is not there or not a number. */
static int64_t number_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    int64_t number;
    if (json_is_integer(value))
        return json_integer_value(value);
    return text != NULL && parse_i64(text, &number) ? number : 0;
}

static bool is_true_at(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static struct etcd_head head_of(const json_t *object)
{
    const json_t *header = json_object_get(object, "header");
    const char *cluster = json_string_value(json_object_get(header, "cluster_id"));
    return (struct etcd_head){ .revision = number_at(header, "revision"),
                               .term = number_at(header, "raft_term"),
                               .cluster = cluster != NULL ? strtoull(cluster, NULL, 10) : 0 };
}

/* ---- Entries. ---- */

static struct view text_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? view_of(json_string_value(value), json_string_length(value))
                                 : view_of("", 0);
}

/* Decodes base64 with padding into `to`, which has room for 3 bytes of each 4. Returns -1 when it
 * is malformed. */
static int64_t decode(struct view text, unsigned char *to)
{
    int64_t n = -1;
    size_t n_pad = 0;
    while (n_pad < text.n && n_pad < 2 && text.at[text.n - 1 - n_pad] == '=')
        n_pad++;
    if (text.n == 0)
        return 0;
    if (text.n % 4 == 0 && text.n <= INT32_MAX / 2)
        n = EVP_DecodeBlock(to, (const unsigned char *)text.at, (int)text.n);
    return n >= (int64_t)n_pad ? n - (int64_t)n_pad : -1;
}

static size_t room_of(const json_t *kv)
{
    return text_at(kv, "key").n + text_at(kv, "value").n + 8;
}

/* Reads one key and its value to *at, and moves it on. False: it is malformed, or its key is longer
 * than any of ours. */
static bool read_entry(const json_t *kv, unsigned char **at, struct store_entry *out)
{
    unsigned char *key = *at;
    int64_t n_key = decode(text_at(kv, "key"), key);
    if (n_key <= 0 || n_key >= STORE_KEY_BYTES || memchr(key, 0, (size_t)n_key) != NULL)
        return false;
    key[n_key] = '\0';
    unsigned char *value = key + n_key + 1;
    int64_t n_value = decode(text_at(kv, "value"), value);
    if (n_value < 0)
        return false;
    *out = (struct store_entry){ .key = (const char *)key,
                                 .value = view_of((const char *)value, (size_t)n_value),
                                 .created = number_at(kv, "create_revision"),
                                 .changed = number_at(kv, "mod_revision") };
    *at = value + n_value + 1;
    return true;
}

static void read_list(const json_t *root, struct etcd_answer *out)
{
    const json_t *kvs = json_object_get(root, "kvs");
    size_t n = json_array_size(kvs), n_bytes = 0;
    if (is_true_at(root, "more")) {
        fault_set(&out->fault, STATUS_TOO_LARGE, "etcd: the list was cut short");
        out->end = STORE_UNSURE;
        return;
    }
    for (size_t i = 0; i < n; i++)
        n_bytes += sizeof *out->entries + room_of(json_array_get(kvs, i));
    if (n == 0)
        return;
    out->entries = mem_take(n_bytes);
    unsigned char *at = (unsigned char *)(out->entries + n);
    for (size_t i = 0; i < n; i++)
        out->n_entries += read_entry(json_array_get(kvs, i), &at, &out->entries[out->n_entries]);
}

/* ---- Replies. ---- */

static void read_fault(const json_t *root, struct etcd_answer *out)
{
    const json_t *error = json_object_get(root, "error");
    const json_t *from = json_is_object(error) ? error : root;
    const char *text = json_string_value(json_object_get(from, "message"));
    int64_t code = number_at(from, json_is_object(error) ? "grpc_code" : "code");
    switch (code) {
    case CODE_INVALID:
    case CODE_NOT_FOUND:
    case CODE_EXISTS:
    case CODE_DENIED:
    case CODE_EXHAUSTED:
    case CODE_PRECONDITION:
    case CODE_RANGE:
    case CODE_UNIMPLEMENTED:
    case CODE_UNAUTHENTICATED:
        out->end = STORE_REFUSED;
        break;
    default:
        out->end = STORE_UNSURE;
        break;
    }
    fault_set(&out->fault, STATUS_IO, "etcd: %.180s", text != NULL ? text : "it gave no reason");
    utf8_tame(out->fault.text);
}

static void read_reply(enum store_call_kind kind, const json_t *root, struct etcd_answer *out)
{
    const json_t *result = kind == STORE_KEEP ? json_object_get(root, "result") : root;
    out->end = STORE_DONE;
    out->head = head_of(result);
    if (out->head.revision <= 0) { /* every reply of etcd has it */
        out->end = STORE_UNSURE;
        fault_set(&out->fault, STATUS_BAD_INPUT, "etcd: the reply has no revision");
        return;
    }
    out->is_made = kind == STORE_CHANGE && is_true_at(result, "succeeded");
    out->ttl_s = number_at(result, "TTL");
    out->has_lease = kind == STORE_KEEP && out->ttl_s > 0;
    if (kind == STORE_LIST)
        read_list(result, out);
}

void etcd_answer_read(enum store_call_kind kind, long http_status, struct view text,
                      struct etcd_answer *out)
{
    json_error_t error;
    json_t *root = json_loadb(text.at != NULL ? text.at : "", text.n, 0, &error);
    *out = (struct etcd_answer){ .end = STORE_UNSURE };
    if (!json_is_object(root))
        fault_set(&out->fault, STATUS_BAD_INPUT,
                  "etcd: the reply (HTTP status %ld) is not a JSON object", http_status);
    else if (http_status != 200 || json_object_get(root, "error") != NULL)
        read_fault(root, out);
    else
        read_reply(kind, root, out);
    json_decref(root);
}

/* ---- Watches. ---- */

static void read_events(const json_t *events, struct etcd_line *out)
{
    size_t n = json_array_size(events), n_bytes = 0;
    for (size_t i = 0; i < n; i++)
        n_bytes += sizeof *out->entries + sizeof *out->are_deleted +
                   room_of(json_object_get(json_array_get(events, i), "kv"));
    if (n == 0)
        return;
    out->entries = mem_take(n_bytes);
    out->are_deleted = (bool *)(out->entries + n);
    unsigned char *at = (unsigned char *)(out->are_deleted + n);
    for (size_t i = 0; i < n; i++) {
        const json_t *event = json_array_get(events, i);
        const char *type = json_string_value(json_object_get(event, "type"));
        int k = out->n_events;
        if (!read_entry(json_object_get(event, "kv"), &at, &out->entries[k]))
            continue;
        out->are_deleted[k] = type != NULL && strcmp(type, "DELETE") == 0;
        out->n_events++;
    }
}

void etcd_answer_read_line(struct view text, struct etcd_line *out)
{
    json_error_t error;
    json_t *root = json_loadb(text.at, text.n, 0, &error);
    const json_t *result = json_object_get(root, "result");
    *out = (struct etcd_line){ .is_over = true };
    if (!json_is_object(result)) {
        struct etcd_answer why = { 0 };
        read_fault(root, &why);
        out->fault = why.fault;
    } else if (is_true_at(result, "canceled")) {
        fault_set(&out->fault, STATUS_IO, "etcd: the watch was cancelled");
    } else {
        out->is_over = false;
        out->head = head_of(result);
        out->is_created = is_true_at(result, "created");
        read_events(json_object_get(result, "events"), out);
    }
    json_decref(root);
}
