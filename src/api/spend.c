/* Usage and quotas of the API's requests. */
#include "api/spend.h"

#include "api/headers.h"
#include "api/work.h"
#include "base/json_out.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DAY_S = 86400, DAYS_SHOWN = 31 };

static int64_t unix_now_s(void)
{
    return time_unix_ns() / TIME_NS_PER_S;
}

enum status api_spend_open(struct api *api, struct fault *fault)
{
    const struct api_options *o = &api->options;
    const struct usage_options options = { o->usage_path, o->n_usage_days };
    enum status status = usage_open(&api->usage, &options, fault);
    if (status != STATUS_OK)
        return status;
    api->quotas = usage_quotas_open(o->n_quota_gateways);
    usage_quotas_set(api->quotas, o->quotas, o->n_quotas);
    return STATUS_OK;
}

void api_spend_close(struct api *api)
{
    usage_close(api->usage);
    usage_quotas_close(api->quotas);
}

void api_spend_sweep(struct api *api)
{
    usage_sweep(api->usage, (int32_t)(unix_now_s() / DAY_S));
}

/* Finds the key of a request among the two that it may carry. */
static void identify(const struct api *api, const struct api_http_exchange *x,
                     struct api_spend *spend)
{
    struct hash128 sent[2];
    *spend = (struct api_spend){ .key = "-", .meter = USAGE_METER_NONE };
    if (x->tenant != 0)
        snprintf(spend->tenant, sizeof spend->tenant, "%s", api->tenants.names[x->tenant - 1]);
    else if (api->options.api_key == NULL || !api_headers_has_key(&x->head, api->options.api_key))
        return;
    api_headers_keys(&x->head, sent);
    int which = x->tenant != 0;
    for (int i = 0; i < api->tenants.n_keys && x->tenant != 0; i++)
        if (api->tenants.keys[i].tenant == x->tenant &&
            hash_equal_const_time(&api->tenants.keys[i].digest, &sent[0], sizeof sent[0]))
            which = 0;
    if (x->tenant == 0) {
        const char *key = api->options.api_key;
        struct hash128 own = hash_secure("", 0, key, strlen(key));
        which = !hash_equal_const_time(&own, &sent[0], sizeof own);
    }
    snprintf(spend->key, sizeof spend->key, "%08x", (unsigned)(sent[which].low & UINT32_MAX));
}

static void add_header(struct api_http_exchange *x, const char *what, const char *of, int64_t value,
                       const char *unit)
{
    char name[48], text[32];
    snprintf(name, sizeof name, "x-ratelimit-%s-%s", what, of);
    snprintf(text, sizeof text, "%lld%s", (long long)value, unit);
    api_http_header(x, name, text);
}

bool api_spend_enter(struct api *api, struct api_http_exchange *x, struct api_spend *spend,
                     struct api_error *error)
{
    static const char *const names[] = { "requests", "tokens" };
    static const char *const bounds[USAGE_QUOTA_KINDS] = { "requests per minute",
                                                           "tokens per minute", "requests per day",
                                                           "tokens per day" };
    struct usage_allowance allowance;
    identify(api, x, spend);
    if (spend->key[0] == '-') /* without a key there is no quota, and the admin key has none */
        return true;
    bool is_admitted =
        usage_quotas_enter(api->quotas, api->usage, (struct usage_who){ spend->tenant, spend->key },
                           unix_now_s(), &spend->meter, &allowance);
    for (int i = 0; i < 2; i++) {
        if (allowance.of[i].most == 0)
            continue;
        add_header(x, "limit", names[i], allowance.of[i].most, "");
        add_header(x, "remaining", names[i], allowance.of[i].left, "");
        add_header(x, "reset", names[i], allowance.of[i].reset_s, "s");
    }
    if (is_admitted)
        return true;
    api_error_set(error, ERROR_QUOTA, NULL,
                  "the quota of this key is used up (%s): try again in %d s",
                  bounds[allowance.refused], allowance.retry_s);
    error->retry_s = allowance.retry_s;
    return false;
}

void api_spend_tokens(struct api *api, const struct api_spend *spend, int64_t n_tokens)
{
    if (spend->meter != USAGE_METER_NONE)
        usage_quotas_spend(api->quotas, spend->meter, unix_now_s(), n_tokens);
}

void api_spend_end(struct api *api, const struct api_spend *spend,
                   const struct usage_counts *counts)
{
    usage_add(api->usage, spend->tenant, spend->key, (int32_t)(unix_now_s() / DAY_S), counts);
}

/* ---- GET /usage ---- */

static void print_date(struct json_out *json, const char *key, int32_t day)
{
    char text[32];
    time_t at = (time_t)day * DAY_S;
    struct tm tm;
    gmtime_r(&at, &tm);
    strftime(text, sizeof text, "%Y-%m-%d", &tm);
    json_out_key_text(json, key, text);
}

static void print_row(struct json_out *json, const struct usage_row *row)
{
    const struct usage_counts *counts = &row->counts;
    json_out_open(json, '{');
    print_date(json, "date", row->day);
    json_out_key_text(json, "tenant", row->tenant);
    json_out_key_text(json, "key", row->key);
    json_out_key_i64(json, "requests", counts->n_requests);
    json_out_key_i64(json, "input_tokens", counts->n_in);
    json_out_key_i64(json, "cached_tokens", counts->n_cached);
    json_out_key_i64(json, "output_tokens", counts->n_out);
    json_out_key_f64(json, "device_seconds", (double)counts->device_ns / TIME_NS_PER_S);
    json_out_close(json, '}');
}

static void print_usage(struct api *api, const void *of, struct str *out)
{
    const int32_t *n_days = of;
    int32_t today = (int32_t)(unix_now_s() / DAY_S);
    const struct usage_row *row;
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "object", "list");
    print_date(&json, "from", today - *n_days + 1);
    print_date(&json, "to", today);
    json_out_key(&json, "data");
    json_out_open(&json, '[');
    for (int32_t i = 0; (row = usage_row_at(api->usage, i)) != NULL; i++)
        if (row->day > today - *n_days)
            print_row(&json, row);
    json_out_close(&json, ']');
    json_out_close(&json, '}');
}

void api_spend_show(struct api *api, struct api_http_exchange *x)
{
    struct api_error error = { 0 };
    char text[16];
    int64_t n_days = DAYS_SHOWN;
    enum api_http_query found = api_http_parse_query(x->head.query, "days", text, sizeof text);
    if (found != API_HTTP_QUERY_ABSENT &&
        (found == API_HTTP_QUERY_BAD || !parse_i64(text, &n_days) || n_days < 1 || n_days > 10000))
        api_error_set(&error, ERROR_INVALID, "days", "days must be a number from 1 to 10000");
    if (error.is_set) {
        api_refuse(x, &error);
        return;
    }
    int32_t n_shown = (int32_t)n_days;
    api_work_reply(api, x, "application/json", print_usage, &n_shown);
}
