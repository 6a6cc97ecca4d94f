/* Pages between gateways: {"items": [...], "response": {...}, "previous": ID or null}. */
#include "api/responses_peers.h"

#include "base/json_out.h"
#include "base/time.h"
#include "fetch/page.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const int64_t ALL_NS_MAX = 15 * TIME_NS_PER_S; /* of all pages of a request */
enum { PAGE_MS_MAX = 5000, URL_BYTES = 512, KEY_BYTES = 1024 };

struct api_responses_peers api_responses_peers_of(const struct api_options *options,
                                                  const struct str *key)
{
    return (struct api_responses_peers){
        .urls = options->responses_peers,
        .n = options->n_responses_peers,
        .key = key->at != NULL ? key->at : "",
        .n_bytes_max = max_i64(options->responses_bytes_max, 1 << 20),
        .until_ns = time_now_ns() + ALL_NS_MAX,
    };
}

bool api_responses_peers_may_go_on(const struct str *body)
{
    static const char previous[] = "previous_response_id";
    return body->n > 0 && memmem(body->at, body->n, previous, sizeof(previous) - 1) != NULL;
}

void api_responses_peers_free(struct api_responses_round *round)
{
    str_free(&round->items);
    str_free(&round->response);
    str_free(&round->previous);
}

void api_responses_peers_print(const struct api_responses_round *round, struct str *out)
{
    struct json_out json;
    str_add_text(out, "{\"items\":");
    str_add(out, round->items.at, round->items.n);
    str_add_text(out, ",\"response\":");
    str_add(out, round->response.at, round->response.n);
    str_add_text(out, ",\"previous\":");
    json_out_init(&json, out);
    if (round->previous.n > 0)
        json_out_view(&json, view_of(round->previous.at, round->previous.n));
    else
        json_out_null(&json);
    str_add_text(out, "}");
}

/* Appends a value's text. Returns false when it has not the type, or there is no memory. */
static bool add_value(const json_t *value, json_type type, struct str *out)
{
    size_t n =
        value != NULL && json_typeof(value) == type ? json_dumpb(value, NULL, 0, JSON_COMPACT) : 0;
    if (n == 0 || !str_try_reserve(out, n + 1))
        return false;
    n = json_dumpb(value, out->at + out->n, n, JSON_COMPACT);
    out->n += n;
    out->at[out->n] = '\0';
    return true;
}

/* Reads a page. Returns false for one that is broken. */
static bool read_page(const struct str *page, struct api_responses_round *round)
{
    json_t *object = json_loadb(page->at != NULL ? page->at : "", page->n, 0, NULL);
    const json_t *previous = json_object_get(object, "previous");
    bool is_good = add_value(json_object_get(object, "items"), JSON_ARRAY, &round->items) &&
                   add_value(json_object_get(object, "response"), JSON_OBJECT, &round->response) &&
                   (json_is_null(previous) || json_is_string(previous));
    if (is_good && json_is_string(previous))
        str_add(&round->previous, json_string_value(previous), json_string_length(previous));
    json_decref(object);
    return is_good;
}

static bool is_plain_id(const char *id)
{
    size_t n = strlen(id);
    return n > 0 && n < 64 && strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz_") == n;
}

bool api_responses_peers_find(struct api_responses_peers *peers, const char *id,
                              struct api_responses_round *round, struct api_error *error)
{
    char url[URL_BYTES], key[KEY_BYTES];
    struct fault fault;
    struct str page;
    bool is_found = false;
    snprintf(key, sizeof key, "Authorization: Bearer %s", peers->key);
    str_init(&page);
    for (int k = 0; k < peers->n && !is_found && is_plain_id(id); k++) {
        int i = (peers->first + k) % peers->n;
        int64_t left_ms = (peers->until_ns - time_now_ns()) / TIME_NS_PER_MS;
        int n = snprintf(url, sizeof url, "%s/v1/responses/%s/round", peers->urls[i], id);
        const struct fetch_page_options options = {
            .url = url,
            .headers = { "Accept: application/json", peers->key[0] != '\0' ? key : NULL },
            .n_bytes_max = peers->n_bytes_max,
            .n_ms_max = (int32_t)max_i64(min_i64(left_ms, PAGE_MS_MAX), 1),
        };
        int32_t code = 0;
        str_clear(&page);
        if (n >= (int)sizeof url)
            continue;
        enum status status = fetch_page(&options, &page, &code, &fault);
        *round = (struct api_responses_round){ 0 };
        is_found = status == STATUS_OK && code == 200 && read_page(&page, round);
        if (is_found)
            peers->first = i;
        else
            api_responses_peers_free(round);
        if (!is_found && code != 404 && !error->is_set)
            api_error_set(error, ERROR_CROWDED, "previous_response_id",
                          "the gateway %.100s, which may have the response %.60s, %s: try again "
                          "later, or send its items in input",
                          peers->urls[i], id,
                          status == STATUS_OK ? "refuses to send it" : "does not answer");
    }
    if (is_found)
        *error = (struct api_error){ 0 };
    str_free(&page);
    return is_found;
}
