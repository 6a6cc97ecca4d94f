/* Request headers that mean something to a call: ids, deadlines, targets, keys. */
#pragma once
#include "api/error.h"
#include "api/http_parse.h"
#include "base/hash.h"
#include "core/service_spec.h"

/* The client's X-Request-Id when it is a plain word of at most n_max - 1 bytes; else the trace's id
 * of its traceparent (W3C Trace Context), if it fits; else empty. */
void api_headers_request_id(const struct api_http_head *head, char *out, size_t n_max);
/* False for a body that is encoded (Content-Encoding), with the error set. */
bool api_headers_is_plain(const struct api_http_head *head, struct api_error *error);
/* x-request-deadline-ms as a time (TIME_NEVER without), x-slo-{ttft,tpot,e2e}-ms over the model's
 * own targets. */
bool api_headers_targets(const struct api_http_head *head, int64_t now_ns, int64_t *deadline_ns,
                         struct service_slo *slo, struct api_error *error);
/* Digests (SHA-256) of what it carries as a key: Authorization: Bearer, and x-api-key; of ""
 * without. */
void api_headers_keys(const struct api_http_head *head, struct hash128 out[2]);
/* Does the request carry this key (Authorization: Bearer, or x-api-key)? In constant time. */
bool api_headers_has_key(const struct api_http_head *head, const char *key);
