/* Writes the bodies of requests. */
#include "etcd/body.h"

#include "base/json_out.h"
#include "base/mem.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

static void key_base64(struct json_out *json, const char *key, const void *bytes, size_t n)
{
    CHECK(n <= (size_t)INT32_MAX / 2);
    char *text = mem_take(4 * ((n + 2) / 3) + 1);
    (void)EVP_EncodeBlock((unsigned char *)text, bytes, (int)n);
    json_out_key_text(json, key, text);
    mem_give(text);
}

static void key_text(struct json_out *json, const char *key, const char *text)
{
    key_base64(json, key, text, strlen(text));
}

/* A 64-bit number, as text. */
static void key_number(struct json_out *json, const char *key, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    json_out_key_text(json, key, text);
}

/* The range of all keys that start with the prefix ends before the prefix with its last byte
 * raised. */
static void key_range(struct json_out *json, const char *prefix)
{
    unsigned char end[STORE_KEY_BYTES];
    size_t n = strlen(prefix);
    CHECK(n > 0 && n < sizeof end);
    memcpy(end, prefix, n);
    while (n > 0 && end[n - 1] == 0xff)
        n--;
    key_text(json, "key", prefix);
    if (n > 0)
        end[n - 1]++;
    key_base64(json, "range_end", n > 0 ? end : (const unsigned char *)"", n > 0 ? n : 1);
}

static void add_condition(struct json_out *json, const struct store_condition *condition)
{
    json_out_open(json, '{');
    key_text(json, "key", condition->key);
    json_out_key_text(json, "result", "EQUAL");
    switch (condition->kind) {
    case STORE_CREATED_AT:
        json_out_key_text(json, "target", "CREATE");
        key_number(json, "create_revision", condition->revision);
        break;
    case STORE_CHANGED_AT:
        json_out_key_text(json, "target", "MOD");
        key_number(json, "mod_revision", condition->revision);
        break;
    case STORE_EQUALS:
        json_out_key_text(json, "target", "VALUE");
        key_base64(json, "value", condition->value.at, condition->value.n);
        break;
    }
    json_out_close(json, '}');
}

static void add_change(struct json_out *json, const struct store_change *change)
{
    json_out_open(json, '{');
    json_out_key(json, change->is_delete ? "request_delete_range" : "request_put");
    json_out_open(json, '{');
    key_text(json, "key", change->key);
    if (!change->is_delete)
        key_base64(json, "value", change->value.at, change->value.n);
    if (!change->is_delete && change->lease != 0)
        key_number(json, "lease", change->lease);
    json_out_close(json, '}');
    json_out_close(json, '}');
}

static void add_transaction(struct json_out *json, const struct store_call *call)
{
    json_out_key(json, "compare");
    json_out_open(json, '[');
    for (int i = 0; i < call->n_conditions; i++)
        add_condition(json, &call->conditions[i]);
    json_out_close(json, ']');
    json_out_key(json, "success");
    json_out_open(json, '[');
    for (int i = 0; i < call->n_changes; i++)
        add_change(json, &call->changes[i]);
    json_out_close(json, ']');
}

const char *etcd_body_of_call(const struct store_call *call, struct str *out)
{
    const char *path = "";
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    switch (call->kind) {
    case STORE_LIST:
        key_range(&json, call->prefix);
        path = "/v3/kv/range";
        break;
    case STORE_CHANGE:
        add_transaction(&json, call);
        path = "/v3/kv/txn";
        break;
    case STORE_GRANT:
        key_number(&json, "ID", call->lease);
        key_number(&json, "TTL", call->ttl_s);
        path = "/v3/lease/grant";
        break;
    case STORE_KEEP:
        key_number(&json, "ID", call->lease);
        path = "/v3/lease/keepalive";
        break;
    case STORE_REVOKE:
        key_number(&json, "ID", call->lease);
        path = "/v3/lease/revoke";
        break;
    }
    json_out_close(&json, '}');
    return path;
}

const char *etcd_body_of_watch(const char *prefix, int64_t revision, struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key(&json, "create_request");
    json_out_open(&json, '{');
    key_range(&json, prefix);
    key_number(&json, "start_revision", revision);
    json_out_key_bool(&json, "progress_notify", true);
    json_out_close(&json, '}');
    json_out_close(&json, '}');
    return "/v3/watch";
}
