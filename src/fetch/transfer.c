/* Gets a file, or its rest, by libcurl. */
#include "fetch/transfer.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "fetch/room.h"
#include "fetch/stop.h"
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { REDIRECTS_MAX = 5, CONNECT_S = 10, HEADERS_MAX = 200 };
static const int64_t SLOW_BYTES = 16 << 10; /* less in a second is silence */
static const int64_t SYNC_BYTES = INT64_C(64) << 20;

struct answer {
    struct fetch_transfer *t;
    CURL *call;
    bool has_begun, is_refused;
    int n_headers;
    int64_t range_from, range_whole; /* of Content-Range; -1: none */
};

static size_t refuse(struct answer *a, bool is_final)
{
    a->is_refused = true;
    a->t->is_final = is_final;
    return 0; /* which ends the transfer */
}

/* ---- Headers. ---- */

/* "bytes 100-199/200" */
static void read_range(struct answer *a, const char *text)
{
    long long from, to, whole;
    if (sscanf(text, " bytes %19lld-%19lld/%19lld", &from, &to, &whole) == 3 && from >= 0 &&
        to >= from && whole == to + 1) {
        a->range_from = from;
        a->range_whole = whole;
    }
}

static size_t on_header(char *bytes, size_t size, size_t n, void *self)
{
    static const char name[] = "content-range:";
    struct answer *a = self;
    char line[256];
    if (++a->n_headers > HEADERS_MAX) {
        fault_set(&a->t->fault, STATUS_IO, "the store sends more than %d headers", HEADERS_MAX);
        return refuse(a, true);
    }
    if (size * n >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        a->range_from = a->range_whole = -1; /* of the answer behind a redirect */
    snprintf(line, sizeof line, "%.*s", (int)min_i64((int64_t)(size * n), 255), bytes);
    if (strncasecmp(line, name, strlen(name)) == 0)
        read_range(a, line + strlen(name));
    return size * n;
}

/* ---- Body. ---- */

/* The part begins anew, since the store sends the whole file. */
static bool begin_anew(struct fetch_transfer *t)
{
    t->n_there = 0;
    fetch_digest_restart(&t->digest);
    return ftruncate(t->fd, 0) == 0;
}

/* Looks at the head of the answer, when its body begins. */
static bool begin(struct answer *a)
{
    struct fetch_transfer *t = a->t;
    long code = 0;
    curl_off_t length = -1;
    a->has_begun = true;
    curl_easy_getinfo(a->call, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_getinfo(a->call, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (code != 200 && code != 206)
        return true; /* the page of an error: it is dropped */
    if (length < 0) {
        fault_set(&t->fault, STATUS_IO, "the store does not say how long the file is");
        return refuse(a, true) > 0;
    }
    if (code == 206 && (a->range_from != t->n_there || a->range_whole != t->n_there + length)) {
        fault_set(&t->fault, STATUS_IO, "the store sent another range than was asked for");
        t->n_whole = -2; /* from the beginning, next time */
        return refuse(a, false) > 0;
    }
    if (code == 200 && !begin_anew(t)) {
        fault_set(&t->fault, STATUS_IO, "the part can't be cut: %s", strerror(errno));
        return refuse(a, true) > 0;
    }
    t->n_whole = t->n_there + length;
    t->synced = t->n_there;
    if (fetch_room_make(t->options->folder, t->fd, t->n_there, length, t->options->n_bytes_max,
                        &t->fault) != STATUS_OK)
        return refuse(a, true) > 0;
    return true;
}

/* Written bytes leave the page cache, which the weights of running models may need. */
static void sync_some(struct fetch_transfer *t)
{
    if (t->n_there - t->synced < SYNC_BYTES)
        return;
    (void)fdatasync(t->fd);
    (void)posix_fadvise(t->fd, t->synced, t->n_there - t->synced, POSIX_FADV_DONTNEED);
    t->synced = t->n_there;
}

bool fetch_transfer_put(struct fetch_transfer *t, const void *bytes, size_t n)
{
    if (lseek(t->fd, t->n_there, SEEK_SET) < 0 || !file_put(t->fd, bytes, n)) {
        fault_set(&t->fault, STATUS_IO, "the part can't be written: %s", strerror(errno));
        return false;
    }
    fetch_digest_add(&t->digest, bytes, n);
    t->n_there += (int64_t)n;
    sync_some(t);
    return true;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *self)
{
    struct answer *a = self;
    struct fetch_transfer *t = a->t;
    long code = 0;
    if (!a->has_begun && !begin(a))
        return 0;
    curl_easy_getinfo(a->call, CURLINFO_RESPONSE_CODE, &code);
    if (code != 200 && code != 206)
        return size * n;
    if (t->n_there + (int64_t)(size * n) > t->n_whole) {
        fault_set(&t->fault, STATUS_IO, "the store sends more than it announced");
        return refuse(a, true);
    }
    return fetch_transfer_put(t, bytes, size * n) ? size * n : refuse(a, true);
}

/* ---- The call. ---- */

/* libcurl calls it often, also while nothing comes. */
static int on_progress(void *self, curl_off_t n_down, curl_off_t n, curl_off_t n_up, curl_off_t up)
{
    (void)self, (void)n_down, (void)n, (void)n_up, (void)up;
    return fetch_is_stopped();
}

static CURL *prepare(struct answer *a)
{
    const struct fetch_options *o = a->t->options;
    CURL *call = curl_easy_init();
    mem_need(call != NULL);
    bool is_secure = strncasecmp(o->url, "https://", 8) == 0;
    int64_t slow = o->n_bytes_per_s > 0 ? min_i64(SLOW_BYTES, o->n_bytes_per_s / 4) : SLOW_BYTES;
    mem_need(curl_easy_setopt(call, CURLOPT_URL, o->url) == CURLE_OK);
    curl_easy_setopt(call, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(call, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(call, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(call, CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
    curl_easy_setopt(call, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(call, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
    curl_easy_setopt(call, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(call, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(call, CURLOPT_LOW_SPEED_LIMIT, (long)max_i64(slow, 1));
    curl_easy_setopt(call, CURLOPT_LOW_SPEED_TIME, (long)max_i64(o->stall_ns / TIME_NS_PER_S, 1));
    curl_easy_setopt(call, CURLOPT_MAX_RECV_SPEED_LARGE, (curl_off_t)o->n_bytes_per_s);
    curl_easy_setopt(call, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(call, CURLOPT_WRITEDATA, a);
    curl_easy_setopt(call, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(call, CURLOPT_HEADERDATA, a);
    curl_easy_setopt(call, CURLOPT_USERAGENT, "shoal");
    curl_easy_setopt(call, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(call, CURLOPT_XFERINFOFUNCTION, on_progress);
    if (o->ca != NULL) {
        curl_easy_setopt(call, CURLOPT_CAINFO, o->ca);
        curl_easy_setopt(call, CURLOPT_CAPATH, NULL);
    }
    return call;
}

static enum status judge(struct fetch_transfer *t, CURLcode result, long code, const char *why)
{
    if (result == CURLE_OK && (code == 200 || code == 206)) {
        if (t->n_whole < 0) /* a body of no bytes */
            t->n_whole = t->n_there;
        return STATUS_OK;
    }
    if (result == CURLE_OK && code == 416) { /* the part is as long as the file, or longer */
        t->n_whole = -2;
        return fault_set(&t->fault, STATUS_IO, "the store has no bytes behind the %lld that came",
                         (long long)t->n_there);
    }
    if (result == CURLE_OK) {
        t->is_final = code < 500 && code != 408 && code != 429;
        return fault_set(&t->fault, STATUS_IO, "the store answers %ld", code);
    }
    t->is_final = result == CURLE_ABORTED_BY_CALLBACK || result == CURLE_TOO_MANY_REDIRECTS ||
                  result == CURLE_UNSUPPORTED_PROTOCOL ||
                  result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_URL_MALFORMAT ||
                  result == CURLE_SSL_CACERT_BADFILE;
    return fault_set(&t->fault, STATUS_IO, "%.150s",
                     why[0] != '\0' ? why : curl_easy_strerror(result));
}

enum status fetch_transfer_run(struct fetch_transfer *t)
{
    struct answer a = { .t = t, .range_from = -1, .range_whole = -1 };
    char why[CURL_ERROR_SIZE] = "", range[32];
    long code = 0;
    a.call = prepare(&a);
    t->is_final = false;
    curl_easy_setopt(a.call, CURLOPT_ERRORBUFFER, why);
    snprintf(range, sizeof range, "%lld-", (long long)t->n_there);
    if (t->n_there > 0)
        curl_easy_setopt(a.call, CURLOPT_RANGE, range);
    CURLcode result = curl_easy_perform(a.call);
    curl_easy_getinfo(a.call, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_cleanup(a.call);
    utf8_tame(why);
    if (a.is_refused)
        return STATUS_IO;
    return judge(t, result, code, why);
}
