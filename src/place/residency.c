/* Evicts models by bytes, the longest idle first; never a busy or pinned model. */
#include "place/residency.h"

#include "base/time.h"

static bool is_evictable(const struct residency_model *r)
{
    return r->idle_since_ns != TIME_NEVER && r->keep_alive_ns >= 0;
}

/* Returns the longest idle model not yet chosen; the lower service among equals. -1 when none is
 * left. */
static int32_t longest_idle(const struct residency_model *residents, int32_t n,
                            const bool *is_chosen)
{
    int32_t best = -1;
    for (int32_t i = 0; i < n; i++) {
        if (is_chosen[i] || !is_evictable(&residents[i]))
            continue;
        if (best < 0 || residents[i].idle_since_ns < residents[best].idle_since_ns ||
            (residents[i].idle_since_ns == residents[best].idle_since_ns &&
             residents[i].service < residents[best].service))
            best = i;
    }
    return best;
}

void residency_evict(const struct residency_model *residents, int32_t n, int64_t need_bytes,
                     int64_t free_bytes, int64_t total_bytes, struct residency_eviction *out)
{
    bool is_chosen[LIMIT_SERVICES] = { false };
    int64_t pinned = 0;
    *out = (struct residency_eviction){ .free_bytes = free_bytes };
    CHECK(n <= LIMIT_SERVICES);
    for (int32_t i = 0; i < n; i++)
        pinned += residents[i].keep_alive_ns < 0 ? residents[i].n_bytes : 0;
    out->never = need_bytes > total_bytes - pinned;
    while (!out->never && out->free_bytes < need_bytes) {
        int32_t victim = longest_idle(residents, n, is_chosen);
        if (victim < 0) {
            out->must_wait = true;
            out->n_victims = 0; /* evicting some without making room would only hurt */
            return;
        }
        is_chosen[victim] = true;
        out->victims[out->n_victims++] = residents[victim].service;
        out->free_bytes += residents[victim].n_bytes;
    }
}

int32_t residency_expired(const struct residency_model *residents, int32_t n, int64_t now_ns,
                          uint16_t *services, int64_t *next_ns)
{
    int32_t n_expired = 0;
    *next_ns = TIME_NEVER;
    for (int32_t i = 0; i < n; i++) {
        if (!is_evictable(&residents[i]) ||
            residents[i].keep_alive_ns >= TIME_NEVER - residents[i].idle_since_ns)
            continue;
        int64_t at = residents[i].idle_since_ns + residents[i].keep_alive_ns;
        if (at <= now_ns)
            services[n_expired++] = residents[i].service;
        else
            *next_ns = min_i64(*next_ns, at);
    }
    return n_expired;
}
