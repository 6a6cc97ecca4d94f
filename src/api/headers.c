/* Reads request headers. Numbers are checked as strictly as those of a body. */
#include "api/headers.h"
#include "base/time.h"
#include <ctype.h>
#include <string.h>

enum { KEY_BYTES_MAX = 900 }; /* of a key that is sent on to other gateways */

static const int64_t SPAN_MS_MAX = INT64_C(7) * 24 * 3600 * 1000;

/* Are these hexadecimal digits of W3C's Trace Context, which allows lower case only? */
static bool is_hex(struct view v)
{
    for (size_t i = 0; i < v.n; i++)
        if (memchr("0123456789abcdef", v.at[i], 16) == NULL)
            return false;
    return true;
}

static bool is_all(struct view v, char digit)
{
    size_t i = 0;
    while (i < v.n && v.at[i] == digit)
        i++;
    return i == v.n;
}

/* Reads VERSION-TRACE-PARENT-FLAGS of 2, 32, 16 and 2 digits. Versions after 00 may add more behind
 * another "-". Returns empty when the text is malformed, its version is ff, or its trace or parent
 * is all zeros. */
static struct view find_trace(const struct api_http_head *head)
{
    enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, WHOLE_BYTES = 55 };
    const struct view none = view_of("", 0);
    struct view v = api_http_parse_find(head, "traceparent");
    if (v.n < WHOLE_BYTES || v.at[TRACE_AT - 1] != '-' || v.at[PARENT_AT - 1] != '-' ||
        v.at[FLAGS_AT - 1] != '-')
        return none;
    struct view version = view_of(v.at, 2), trace = view_of(v.at + TRACE_AT, 32);
    struct view parent = view_of(v.at + PARENT_AT, 16), flags = view_of(v.at + FLAGS_AT, 2);
    if (!is_hex(version) || !is_hex(trace) || !is_hex(parent) || !is_hex(flags))
        return none;
    if (v.n > WHOLE_BYTES && (is_all(version, '0') || v.at[WHOLE_BYTES] != '-'))
        return none;
    return is_all(version, 'f') || is_all(trace, '0') || is_all(parent, '0') ? none : trace;
}

void api_headers_request_id(const struct api_http_head *head, char *out, size_t n_max)
{
    struct view v = api_http_parse_find(head, "x-request-id");
    bool is_plain = v.n < n_max;
    for (size_t i = 0; i < v.n && is_plain; i++)
        is_plain = v.at[i] > 0x20 && v.at[i] < 0x7f;
    size_t n = is_plain ? v.n : 0;
    if (n == 0) {
        v = find_trace(head);
        n = v.n < n_max ? v.n : 0;
    }
    if (n > 0)
        memcpy(out, v.at, n);
    out[n] = '\0';
}

bool api_headers_is_plain(const struct api_http_head *head, struct api_error *error)
{
    struct view v = api_http_parse_find(head, "content-encoding");
    if (v.n == 0 || (v.n == 8 && strncasecmp(v.at, "identity", 8) == 0))
        return true;
    api_error_set(error, ERROR_ENCODING, NULL,
                  "a body with a Content-Encoding is not read here: send it as it is");
    return false;
}

/* Reads milliseconds. *ns is left alone when the header is absent. */
static bool read_span(const struct api_http_head *head, const char *name, int64_t *ns,
                      struct api_error *error)
{
    struct view v = api_http_parse_find(head, name);
    char text[24];
    int64_t ms = 0;
    if (v.at == NULL)
        return true;
    bool is_ok = v.n > 0 && v.n < sizeof(text) && isdigit((unsigned char)v.at[0]);
    if (is_ok) {
        memcpy(text, v.at, v.n);
        text[v.n] = '\0';
        is_ok = parse_i64(text, &ms) && ms >= 1 && ms <= SPAN_MS_MAX;
    }
    if (is_ok)
        *ns = ms * TIME_NS_PER_MS;
    else
        api_error_set(error, ERROR_INVALID, name,
                      "the header %s must be an integer between 1 and %lld (milliseconds)", name,
                      (long long)SPAN_MS_MAX);
    return is_ok;
}

bool api_headers_targets(const struct api_http_head *head, int64_t now_ns, int64_t *deadline_ns,
                         struct service_slo *slo, struct api_error *error)
{
    int64_t span_ns = 0;
    bool is_ok = read_span(head, "x-request-deadline-ms", &span_ns, error) &&
                 read_span(head, "x-slo-ttft-ms", &slo->ttft_ns, error) &&
                 read_span(head, "x-slo-tpot-ms", &slo->tpot_ns, error) &&
                 read_span(head, "x-llm-d-slo-ttft-ms", &slo->ttft_ns, error) &&
                 read_span(head, "x-llm-d-slo-tpot-ms", &slo->tpot_ns, error) &&
                 read_span(head, "x-slo-e2e-ms", &slo->e2e_ns, error);
    *deadline_ns = span_ns > 0 ? now_ns + span_ns : TIME_NEVER;
    return is_ok;
}

static struct hash128 digest_of(struct view key)
{
    return hash_secure("", 0, key.at != NULL ? key.at : "", key.n);
}

/* Returns the key of Authorization: Bearer, empty when there is none. */
static struct view bearer_of(const struct api_http_head *head)
{
    struct view v = api_http_parse_find(head, "authorization");
    bool is_bearer = v.n > 7 && strncasecmp(v.at, "bearer ", 7) == 0;
    struct view sent = is_bearer ? view_of(v.at + 7, v.n - 7) : view_of("", 0);
    while (sent.n > 0 && sent.at[0] == ' ')
        sent = view_of(sent.at + 1, sent.n - 1);
    return sent;
}

void api_headers_key(const struct api_http_head *head, struct str *out)
{
    struct view bearer = bearer_of(head), key = api_http_parse_find(head, "x-api-key");
    struct view sent = bearer.n > 0 ? bearer : key;
    if (sent.n > 0 && sent.n <= KEY_BYTES_MAX)
        str_add(out, sent.at, sent.n);
}

void api_headers_keys(const struct api_http_head *head, struct hash128 out[2])
{
    out[0] = digest_of(bearer_of(head));
    out[1] = digest_of(api_http_parse_find(head, "x-api-key"));
}

/* Compares digests, so that the time depends neither on the length nor on the start of the key. */
bool api_headers_has_key(const struct api_http_head *head, const char *key)
{
    struct hash128 sent[2], own = digest_of(view_text(key));
    api_headers_keys(head, sent);
    bool is_first = hash_equal_const_time(&sent[0], &own, sizeof(own));
    bool is_second = hash_equal_const_time(&sent[1], &own, sizeof(own));
    return (is_first || is_second) && key[0] != '\0'; /* an empty key matches nothing */
}
