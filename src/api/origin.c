/* Compares Origin and Host with this server's own. */
#include "api/origin.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool equal_nocase(struct view v, const char *text)
{
    return v.n == strlen(text) && strncasecmp(v.at, text, v.n) == 0;
}

/* Matches "http://HOST" or "https://HOST" with the request's own Host. Both schemes match, because
 * a proxy in front may end TLS. */
static bool is_own(struct view origin, struct view host)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (origin.n == n + host.n && host.n > 0 && view_starts(origin, schemes[i]) &&
            strncasecmp(origin.at + n, host.at, host.n) == 0)
            return true;
    }
    return false;
}

bool api_origin_is_allowed(const struct api_http_head *head, const char *cors_origin)
{
    struct view origin = api_http_parse_find(head, "origin");
    if (origin.at == NULL || is_own(origin, head->host))
        return true;
    return cors_origin != NULL &&
           (strcmp(cors_origin, "*") == 0 || view_equal_text(origin, cors_origin));
}

bool api_origin_asked_headers(const struct api_http_head *head, char *out, size_t n_max)
{
    struct view asked = api_http_parse_find(head, "access-control-request-headers");
    if (asked.n == 0 || asked.n >= n_max)
        return false;
    for (size_t i = 0; i < asked.n; i++)
        if (!isalnum((unsigned char)asked.at[i]) &&
            memchr("!#$%&'*+-.^_`|~, ", asked.at[i], 17) == NULL)
            return false;
    memcpy(out, asked.at, asked.n);
    out[asked.n] = '\0';
    return true;
}

static bool is_address(int family, struct view v)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    if (v.n >= sizeof(text))
        return false;
    memcpy(text, v.at, v.n);
    text[v.n] = '\0';
    return inet_pton(family, text, address) == 1;
}

/* Returns the host without the port, if there is one. */
static struct view name_of(struct view host)
{
    size_t n = host.n;
    while (n > 0 && host.at[n - 1] >= '0' && host.at[n - 1] <= '9')
        n--;
    return n > 0 && host.at[n - 1] == ':' ? view_of(host.at, n - 1) : host;
}

bool api_origin_is_direct(const struct api_http_head *head)
{
    struct view name = name_of(head->host);
    if (head->host.n == 0)
        return true; /* HTTP/1.0: not a browser */
    if (name.n > 2 && name.at[0] == '[' && name.at[name.n - 1] == ']')
        return is_address(AF_INET6, view_of(name.at + 1, name.n - 2));
    return equal_nocase(name, "localhost") || is_address(AF_INET, name);
}
