/* Fuzzes HTTP heads and chunked bodies: whole and split input must give the same. Also paths and
 * headers. */
#include "api/headers.h"
#include "base/time.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void try_chunks(struct view bytes)
{
    struct api_http_chunks whole = { 0 }, split = { 0 };
    struct str a, b;
    size_t n_whole = 0, n_split = 0;
    str_init(&a);
    str_init(&b);
    enum api_http_chunks_said said = api_http_parse_chunks(&whole, bytes, &a, &n_whole);
    enum api_http_chunks_said again = HTTP_CHUNKS_MORE;
    CHECK(n_whole <= bytes.n && a.n <= bytes.n);
    while (n_split < bytes.n && again == HTTP_CHUNKS_MORE) {
        size_t n_taken = 0;
        again = api_http_parse_chunks(&split, view_of(bytes.at + n_split, 1), &b, &n_taken);
        CHECK(n_taken == 1);
        n_split++;
    }
    CHECK(said == again && n_whole == n_split && a.n == b.n);
    CHECK(a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
    str_free(&a);
    str_free(&b);
}

static void try_head(struct view bytes)
{
    static struct api_http_head head;
    char text[300];
    const char *why = NULL;
    struct api_error error = { 0 };
    struct service_slo slo = { 0 };
    int64_t deadline_ns;
    int status = api_http_parse_head(bytes, &head, &why);
    CHECK(why != NULL && (status == 0 || (status >= 400 && status <= 505)));
    if (status != 0)
        return;
    CHECK(head.path.n > 0 && head.n_body >= 0 && head.n_headers <= HTTP_HEADERS_MAX);
    CHECK(head.is_1_0 || head.host.at != NULL);
    CHECK(!head.is_chunked || head.n_body == 0);
    for (int i = 0; i < head.n_headers; i++) {
        CHECK(head.headers[i].name.n > 0);
        CHECK(memchr(head.headers[i].value.at, '\n', head.headers[i].value.n) == NULL);
    }
    (void)api_http_parse_percent(head.path, text, sizeof(text));
    api_headers_request_id(&head, text, sizeof(text));
    CHECK(strpbrk(text, "\r\n ") == NULL);
    (void)api_headers_targets(&head, 0, &deadline_ns, &slo, &error);
    (void)api_headers_has_key(&head, "key");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    size_t at = 0, again = 0, n_head = 0;
    struct view v = view_of((const char *)bytes, n);
    if (n == 0)
        return 0;
    size_t extent = api_http_parse_extent(v, &at);
    for (size_t i = 1; i <= n && n_head == 0; i++)
        n_head = api_http_parse_extent(view_of(v.at, i), &again);
    CHECK(n_head == extent);
    if (extent > 0) {
        try_head(view_of(v.at, extent));
        v = view_of(v.at + extent, n - extent);
    }
    if (v.n > 0)
        try_chunks(v);
    return 0;
}
