/* Gets a page by libcurl. */
#include "fetch/page.h"

#include <curl/curl.h>

enum { CONNECT_MS = 2000 };

struct page {
    const struct fetch_page_options *options;
    struct str *out;
    size_t n_before;
    bool is_too_large;
};

static size_t on_body(char *bytes, size_t size, size_t n, void *self)
{
    struct page *page = self;
    size_t n_bytes = size * n, n_there = page->out->n - page->n_before;
    if ((int64_t)(n_there + n_bytes) > page->options->n_bytes_max ||
        !str_try_reserve(page->out, n_bytes + 1)) {
        page->is_too_large = true;
        return 0; /* which ends the transfer */
    }
    str_add(page->out, bytes, n_bytes);
    return n_bytes;
}

static CURLcode run(CURL *call, struct curl_slist *headers, struct page *page)
{
    const struct fetch_page_options *o = page->options;
    bool is_set = curl_easy_setopt(call, CURLOPT_URL, o->url) == CURLE_OK &&
                  curl_easy_setopt(call, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                  curl_easy_setopt(call, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
                  curl_easy_setopt(call, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
                  curl_easy_setopt(call, CURLOPT_NOPROXY, "*") == CURLE_OK &&
                  curl_easy_setopt(call, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS) == CURLE_OK &&
                  curl_easy_setopt(call, CURLOPT_TIMEOUT_MS, (long)o->n_ms_max) == CURLE_OK &&
                  curl_easy_setopt(call, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
                  curl_easy_setopt(call, CURLOPT_WRITEDATA, page) == CURLE_OK;
    return is_set ? curl_easy_perform(call) : CURLE_FAILED_INIT;
}

enum status fetch_page(const struct fetch_page_options *options, struct str *out, int32_t *code,
                       struct fault *fault)
{
    struct page page = { options, out, out->n, false };
    struct curl_slist *headers = NULL;
    CURL *call = curl_easy_init();
    long status = 0;
    *code = 0;
    for (int i = 0; i < FETCH_PAGE_HEADERS && options->headers[i] != NULL; i++)
        headers = curl_slist_append(headers, options->headers[i]);
    CURLcode result = call != NULL ? run(call, headers, &page) : CURLE_FAILED_INIT;
    if (result == CURLE_OK)
        (void)curl_easy_getinfo(call, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(call);
    *code = (int32_t)status;
    if (page.is_too_large)
        return fault_set(fault, STATUS_TOO_LARGE, "%.150s sends more than %lld bytes", options->url,
                         (long long)options->n_bytes_max);
    if (result != CURLE_OK)
        return fault_set(fault, STATUS_IO, "%.150s does not answer: %.80s", options->url,
                         curl_easy_strerror(result));
    return STATUS_OK;
}
