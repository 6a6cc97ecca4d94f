/* Bounds and guards of work. */
#include "api/work.h"

/* At best, work gets an eighth less than a single party may have, since some memory is always
 * held. */
struct api_work api_work_for(const struct api *api, struct api_party *party, size_t n_own)
{
    const struct api_parties *parties = api_http_parties(api->http);
    int64_t n_alone = api_parties_room_alone(parties, (int64_t)n_own);
    int64_t n_most = max_i64(n_alone - n_alone / 8, API_WORK_SMALL_BYTES);
    int64_t n_now = max_i64(api_parties_room(parties, party), API_WORK_SMALL_BYTES);
    return (struct api_work){ .party = party,
                              .n_bytes_max = min_i64(n_now, n_most),
                              .n_bytes_most = n_most };
}

struct page {
    struct api *api;
    void (*print)(struct api *api, const void *of, struct str *out);
    const void *of;
    struct str out;
};

static void print_page(void *arg)
{
    struct page *page = arg;
    page->print(page->api, page->of, &page->out);
}

void api_work_reply(struct api *api, struct api_http_exchange *x, const char *type,
                    void (*print)(struct api *api, const void *of, struct str *out), const void *of)
{
    struct page page = { .api = api, .print = print, .of = of };
    struct api_error error = { 0 };
    if (mem_guard(INT64_MAX, print_page, &page) == 0) {
        api_http_reply_text(x, 200, type, &page.out);
        return;
    }
    api_error_set(&error, ERROR_CROWDED, NULL,
                  "there is no memory for the answer now, try again later");
    api_refuse(x, &error);
}

bool api_work_run(const struct api_work *work, void (*f)(void *arg), void *arg,
                  struct api_error *error)
{
    struct mem_account *before = mem_account_use(&work->party->account);
    int64_t n_wanted = mem_guard(work->n_bytes_max, f, arg);
    (void)mem_account_use(before);
    if (n_wanted > work->n_bytes_most)
        api_error_set(error, ERROR_TOO_LARGE, NULL,
                      "the request needs more than the %lld MiB of memory that one may have here "
                      "(http_memory)",
                      (long long)(work->n_bytes_most >> 20));
    else if (n_wanted > 0)
        api_error_set(error, ERROR_CROWDED, NULL,
                      "there is no memory for the request now, try again later");
    return n_wanted == 0;
}
