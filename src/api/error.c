/* Error pages: one table from kinds of error to status, type and code. */
#include "api/error.h"
#include "base/json_out.h"
#include "core/service.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct row {
    int status;
    const char *type, *code, *reason; /* reason: of x-shoal-request-dropped-reason */
    int retry_after_s;
} rows[ERROR_N] = {
    [ERROR_INVALID] = { 400, "invalid_request_error", NULL, NULL, 0 },
    [ERROR_CONTEXT] = { 400, "invalid_request_error", "context_length_exceeded", NULL, 0 },
    [ERROR_TOO_LARGE] = { 400, "invalid_request_error", "too_large", "rejected-too-large", 0 },
    [ERROR_KEY] = { 401, "authentication_error", "invalid_api_key", NULL, 0 },
    [ERROR_ADMIN_KEY] = { 403, "permission_error", "admin_key_required", NULL, 0 },
    [ERROR_ORIGIN] = { 403, "permission_error", "origin_not_allowed", NULL, 0 },
    [ERROR_NO_ROUTE] = { 404, "not_found_error", "not_found", NULL, 0 },
    [ERROR_NO_MODEL] = { 404, "not_found_error", "model_not_found", NULL, 0 },
    [ERROR_METHOD] = { 405, "invalid_request_error", "method_not_allowed", NULL, 0 },
    [ERROR_ENCODING] = { 415, "invalid_request_error", "unsupported_encoding", NULL, 0 },
    [ERROR_BUSY] = { 409, "conflict_error", "busy", NULL, 0 },
    [ERROR_QUOTA] = { 429, "rate_limit_error", "rate_limit_exceeded", "rejected-quota", 60 },
    [ERROR_QUEUE_FULL] = { 429, "rate_limit_error", "queue_full", "rejected-queue-full", 1 },
    [ERROR_EVICTED] = { 429, "rate_limit_error", "evicted", "evicted-no-room", 1 },
    [ERROR_HOUSE] = { 500, "server_error", "internal_error", NULL, 0 },
    [ERROR_DRAINING] = { 503, "unavailable_error", "draining", "rejected-draining", 5 },
    [ERROR_UNWELL] = { 503, "unavailable_error", "unhealthy", NULL, 5 },
    [ERROR_LOADING] = { 503, "unavailable_error", "model_not_ready", "rejected-model-not-ready",
                        5 },
    [ERROR_LOAD_FAILED] = { 503, "unavailable_error", "model_load_failed",
                            "rejected-model-load-failed", SERVICE_LOAD_AGAIN_S },
    [ERROR_PAUSED] = { 503, "unavailable_error", "model_paused", "rejected-model-paused", 10 },
    [ERROR_LATE] = { 504, "timeout_error", "deadline_exceeded", "rejected-deadline", 0 },
    [ERROR_LATE_AT_WORK] = { 504, "timeout_error", "deadline_exceeded", "evicted-deadline", 0 },
    [ERROR_STOPPED] = { 503, "unavailable_error", "shutting_down", "evicted-shutdown", 5 },
    [ERROR_CROWDED] = { 503, "unavailable_error", "crowded", "rejected-crowded", 1 },
    [ERROR_STARVED] = { 503, "unavailable_error", "crowded", "evicted-crowded", 1 },
    [ERROR_HTTP] = { 400, "invalid_request_error", "bad_http", NULL, 0 },
};

void api_error_set(struct api_error *error, enum api_error_kind kind, const char *param,
                   const char *fmt, ...)
{
    if (error->is_set)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(error->text, sizeof(error->text), fmt, args);
    va_end(args);
    error->is_set = true;
    error->kind = kind;
    error->status = rows[kind].status;
    snprintf(error->param, sizeof(error->param), "%s", param != NULL ? param : "");
}

static const char *anthropic_type(const struct api_error *error)
{
    static const struct {
        int status;
        const char *type;
    } types[] = { { 400, "invalid_request_error" }, { 401, "authentication_error" },
                  { 403, "permission_error" },      { 404, "not_found_error" },
                  { 413, "request_too_large" },     { 429, "rate_limit_error" },
                  { 503, "overloaded_error" },      { 504, "timeout_error" } };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].status == error->status)
            return types[i].type;
    return error->status < 500 ? "invalid_request_error" : "api_error";
}

static void print_anthropic(const struct api_error *error, struct json_out *json)
{
    json_out_open(json, '{');
    json_out_key_text(json, "type", "error");
    json_out_key(json, "error");
    json_out_open(json, '{');
    json_out_key_text(json, "type", anthropic_type(error));
    json_out_key_text(json, "message", error->text);
    json_out_close(json, '}');
    json_out_close(json, '}');
}

void api_error_print(const struct api_error *error, enum api_error_shape shape, struct str *out)
{
    const struct row *row = &rows[error->kind];
    struct json_out json;
    json_out_init(&json, out);
    if (shape == ERROR_ANTHROPIC) {
        print_anthropic(error, &json);
        return;
    }
    if (shape == ERROR_OLLAMA) {
        json_out_open(&json, '{');
        json_out_key_text(&json, "error", error->text);
        json_out_close(&json, '}');
        return;
    }
    json_out_open(&json, '{');
    json_out_key(&json, "error");
    json_out_open(&json, '{');
    json_out_key_text(&json, "message", error->text);
    json_out_key_text(&json, "type", row->type);
    json_out_key_text(&json, "param", error->param[0] != '\0' ? error->param : NULL);
    json_out_key_text(&json, "code", row->code);
    json_out_close(&json, '}');
    str_add_text(out, error->extra);
    json_out_close(&json, '}');
}

const char *api_error_reason(const struct api_error *error)
{
    return rows[error->kind].reason;
}

int api_error_retry_after_s(const struct api_error *error)
{
    return error->retry_s > 0 ? error->retry_s : rows[error->kind].retry_after_s;
}
