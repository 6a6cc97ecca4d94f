/* Request headers that mean something to a call: ids, deadlines, targets, keys. */
#pragma once
#include "api/error.h"
#include "api/http_parse.h"
#include "base/hash.h"
#include "core/service_spec.h"

/* Writes the client's X-Request-Id when it is a plain word of at most n_max - 1 bytes. Otherwise
 * writes the trace id of its traceparent (W3C Trace Context) if that fits, else "". */
void api_headers_request_id(const struct api_http_head *head, char *out, size_t n_max);
/* Returns false, with the error set, for an encoded body (Content-Encoding). */
bool api_headers_is_plain(const struct api_http_head *head, struct api_error *error);
/* Reads x-request-deadline-ms as a time (TIME_NEVER when absent). x-slo-{ttft,tpot,e2e}-ms replace
 * the model's own targets. */
bool api_headers_targets(const struct api_http_head *head, int64_t now_ns, int64_t *deadline_ns,
                         struct service_slo *slo, struct api_error *error);
/* Writes SHA-256 digests of the keys that the request carries: that of Authorization: Bearer and
 * that of x-api-key. An absent key counts as "". */
void api_headers_keys(const struct api_http_head *head, struct hash128 out[2]);
/* Appends the key that the request carries; nothing when it has none, or a very long one. */
void api_headers_key(const struct api_http_head *head, struct str *out);
/* Returns whether the request carries this key (Authorization: Bearer, or x-api-key). Takes
 * constant time. */
bool api_headers_has_key(const struct api_http_head *head, const char *key);
