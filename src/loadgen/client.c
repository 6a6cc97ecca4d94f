/* A small HTTP client over libcurl. */
#include "loadgen/client.h"

#include "base/file.h"
#include "base/mem.h"
#include "config/text.h"
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

enum { STREAMS_MAX = 16 };

struct answer {
    const struct client_options *options;
    struct str *text;
};

/* Taking fewer bytes than came ends the call. */
static size_t append(char *bytes, size_t size, size_t n, void *self)
{
    const struct answer *answer = self;
    int64_t most = answer->options->n_bytes_max;
    if (most > 0 && (int64_t)(answer->text->n + size * n) > most)
        return 0;
    str_add(answer->text, bytes, size * n);
    return size * n;
}

static int look(void *self, curl_off_t n_down, curl_off_t down, curl_off_t n_up, curl_off_t up)
{
    const struct client_options *options = self;
    (void)n_down;
    (void)down;
    (void)n_up;
    (void)up;
    return options->is_over(options->self);
}

enum status client_check(const struct client_options *options, struct fault *fault)
{
    const char *option = options->cacert != NULL ? "--cacert" : "--insecure";
    if (options->cacert == NULL && !options->is_insecure)
        return STATUS_OK;
    if (options->cacert != NULL && options->is_insecure)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "--cacert names the certificates to trust, --insecure trusts all: give "
                         "one of them");
    if (strncmp(options->server, "http://", 7) == 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s is for https://, but the server is %.120s",
                         option, options->server);
    if (options->cacert != NULL && !file_exists(options->cacert))
        return fault_set(fault, STATUS_NOT_FOUND, "--cacert: there is no file %.200s",
                         options->cacert);
    return STATUS_OK;
}

void client_url(const struct client_options *options, const char *path, struct str *out)
{
    const char *server = options->server;
    bool has_scheme = strstr(server, "://") != NULL;
    bool is_secure = options->cacert != NULL || options->is_insecure;
    size_t n = strlen(server);
    while (n > 0 && server[n - 1] == '/')
        n--;
    if (n > 3 && memcmp(server + n - 3, "/v1", 3) == 0)
        n -= 3;
    str_printf(out, "%s%.*s%s",
               has_scheme  ? ""
               : is_secure ? "https://"
                           : "http://",
               (int)n, server, path);
}

void client_trust(const struct client_options *options, void *call)
{
    if (options->cacert != NULL)
        mem_need(curl_easy_setopt(call, CURLOPT_CAINFO, options->cacert) == CURLE_OK);
    if (!options->is_insecure)
        return;
    curl_easy_setopt(call, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(call, CURLOPT_SSL_VERIFYHOST, 0L);
}

const char *client_advice(int curl_code)
{
    switch (curl_code) {
    case CURLE_PEER_FAILED_VERIFICATION:
        return "; --cacert FILE names what to trust, --insecure trusts any certificate";
    case CURLE_SSL_CONNECT_ERROR:
        return "; if it speaks no TLS, write http://";
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
        return "; if it speaks TLS, write https://";
    default:
        return "";
    }
}

struct curl_slist *client_header(struct curl_slist *list, const char *text)
{
    struct curl_slist *longer = curl_slist_append(list, text);
    mem_need(longer != NULL);
    return longer;
}

static CURL *prepare(const struct client_options *options, const char *path, const char *body,
                     struct curl_slist **headers)
{
    struct str url, key;
    CURL *call = curl_easy_init();
    mem_need(call != NULL);
    str_init(&url);
    str_init(&key);
    client_url(options, path, &url);
    *headers = client_header(NULL, "Content-Type: application/json");
    if (options->key) {
        str_printf(&key, "Authorization: Bearer %s", options->key);
        *headers = client_header(*headers, key.at);
    }
    mem_need(curl_easy_setopt(call, CURLOPT_URL, url.at) == CURLE_OK); /* copied */
    str_free(&url);
    str_free(&key);
    curl_easy_setopt(call, CURLOPT_HTTPHEADER, *headers);
    curl_easy_setopt(call, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(call, CURLOPT_NOPROXY, "*");
    client_trust(options, call);
    curl_easy_setopt(call, CURLOPT_TIMEOUT_MS, (long)options->timeout_ms);
    if (options->is_over != NULL) {
        curl_easy_setopt(call, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(call, CURLOPT_XFERINFOFUNCTION, look);
        curl_easy_setopt(call, CURLOPT_XFERINFODATA, options);
    }
    if (body)
        curl_easy_setopt(call, CURLOPT_POSTFIELDS, body);
    return call;
}

enum status client_call(const struct client_options *options, const char *path, const char *body,
                        int *http_status, struct str *answer, struct fault *fault)
{
    struct curl_slist *headers;
    long code = 0;
    char why[CURL_ERROR_SIZE] = "";
    *http_status = 0;
    if (options->key != NULL &&
        config_text_check(CONFIG_TEXT_KEY, "the key", view_text(options->key), fault) != STATUS_OK)
        return STATUS_BAD_INPUT;
    struct answer taken = { options, answer };
    CURL *call = prepare(options, path, body, &headers);
    curl_easy_setopt(call, CURLOPT_ERRORBUFFER, why);
    curl_easy_setopt(call, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(call, CURLOPT_WRITEDATA, &taken);
    CURLcode result = curl_easy_perform(call);
    curl_easy_getinfo(call, CURLINFO_RESPONSE_CODE, &code);
    curl_slist_free_all(headers);
    curl_easy_cleanup(call);
    *http_status = (int)code;
    const char *advice = client_advice((int)result);
    if (result != CURLE_OK)
        return fault_set(fault, STATUS_IO, "no answer from %.80s: %.80s%s", options->server,
                         why[0] != '\0' ? why : curl_easy_strerror(result),
                         advice[0] != '\0' ? advice : " (is shoal serve running?)");
    return STATUS_OK;
}

static size_t pass_on(char *bytes, size_t size, size_t n, void *self)
{
    struct client_stream *stream = self;
    stream->take(stream->self, bytes, size * n);
    return size * n;
}

enum status client_stream_all(const struct client_options *options, struct client_stream *streams,
                              int n, struct fault *fault)
{
    CURL *calls[STREAMS_MAX];
    struct curl_slist *headers[STREAMS_MAX];
    CURLM *multi = curl_multi_init();
    int n_running = n;
    CHECK(n <= STREAMS_MAX);
    mem_need(multi != NULL);
    for (int i = 0; i < n; i++) {
        calls[i] = prepare(options, streams[i].path, streams[i].body, &headers[i]);
        curl_easy_setopt(calls[i], CURLOPT_WRITEFUNCTION, pass_on);
        curl_easy_setopt(calls[i], CURLOPT_WRITEDATA, &streams[i]);
        mem_need(curl_multi_add_handle(multi, calls[i]) == CURLM_OK);
    }
    const volatile sig_atomic_t *is_off = n > 0 ? streams[0].is_off : NULL;
    while (n_running > 0 && (is_off == NULL || *is_off == 0) &&
           curl_multi_perform(multi, &n_running) == CURLM_OK && n_running > 0)
        curl_multi_poll(multi, NULL, 0, is_off != NULL ? 100 : 1000, NULL);
    enum status status = STATUS_OK;
    for (int i = 0; i < n; i++) {
        long code = 0;
        curl_easy_getinfo(calls[i], CURLINFO_RESPONSE_CODE, &code);
        streams[i].http_status = (int)code;
        if (code == 0)
            status = fault_set(fault, STATUS_IO, "no answer from %.80s (is shoal serve running?)",
                               options->server);
        else if (code != 200)
            status = fault_set(fault, STATUS_IO, "%s answered %ld", streams[i].path, code);
        curl_multi_remove_handle(multi, calls[i]);
        curl_easy_cleanup(calls[i]);
        curl_slist_free_all(headers[i]);
    }
    curl_multi_cleanup(multi);
    return status;
}
