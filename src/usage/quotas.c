/* Meters by key. */
#include "usage/quotas.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include <stdio.h>
#include <string.h>

enum { MINUTE_S = 60, DAY_S = 86400 };
static const int32_t span_s[USAGE_QUOTA_KINDS] = { MINUTE_S, MINUTE_S, DAY_S, DAY_S };
static const char *const kind_names[USAGE_QUOTA_KINDS] = { "rpm", "tpm", "rpd", "tpd" };

struct meter {
    int64_t window[USAGE_QUOTA_KINDS]; /* number of the minute or day that is counted */
    int64_t n[USAGE_QUOTA_KINDS];
};
struct usage_quotas {
    int32_t n_gateways;
    int n;
    struct usage_quota quotas[USAGE_QUOTAS_MAX];
    struct map by_key; /* a hash of tenant and key: meters */
    int32_t n_meters;
    struct meter meters[USAGE_METERS_MAX]; /* the last one is shared by all keys beyond */
};

/* Reads one "rpm:60" of n bytes. */
static bool read_bound(struct usage_quota *quota, const char *text, size_t n)
{
    char number[24];
    for (int kind = 0; kind < USAGE_QUOTA_KINDS; kind++) {
        size_t n_name = strlen(kind_names[kind]);
        if (n <= n_name + 1 || n - n_name > sizeof number || text[n_name] != ':' ||
            memcmp(text, kind_names[kind], n_name) != 0)
            continue;
        snprintf(number, sizeof number, "%.*s", (int)(n - n_name - 1), text + n_name + 1);
        return parse_i64(number, &quota->most[kind]) && quota->most[kind] > 0 &&
               quota->most[kind] <= INT64_C(1) << 50;
    }
    return false;
}

bool usage_quotas_read(struct usage_quota *quota, const char *text, struct fault *fault)
{
    const char *sign = strchr(text, '=');
    *quota = (struct usage_quota){ 0 };
    bool is_well = sign != NULL && sign > text && sign - text < USAGE_NAME_BYTES && sign[1] != '\0';
    if (is_well)
        memcpy(quota->name, text, (size_t)(sign - text));
    for (const char *at = is_well ? sign + 1 : ""; is_well && *at != '\0';) {
        size_t n = strcspn(at, "/");
        is_well = read_bound(quota, at, n) && (at[n] == '\0' || at[n + 1] != '\0');
        at += n + (at[n] == '/');
    }
    if (!is_well && fault != NULL)
        (void)fault_set(
            fault, STATUS_BAD_INPUT,
            "a quota is NAME=rpm:60/tpm:10000/rpd:1000/tpd:100000 with any of the four, "
            "each a number above 0, and not \"%.60s\"",
            text);
    return is_well;
}

struct usage_quotas *usage_quotas_open(int32_t n_gateways)
{
    struct usage_quotas *q = mem_take(sizeof *q);
    q->n_gateways = max_i32(n_gateways, 1);
    map_init(&q->by_key, USAGE_METERS_MAX);
    return q;
}

void usage_quotas_close(struct usage_quotas *q)
{
    if (q == NULL)
        return;
    map_free(&q->by_key);
    mem_give(q);
}

void usage_quotas_set(struct usage_quotas *q, const char *const *texts, int n)
{
    q->n = 0;
    for (int i = 0; i < n && q->n < USAGE_QUOTAS_MAX; i++)
        q->n += usage_quotas_read(&q->quotas[q->n], texts[i], NULL);
}

/* Returns the quota of a tenant's keys: its own, else that of all others, else NULL. */
static const struct usage_quota *quota_of(const struct usage_quotas *q, const char *tenant)
{
    const struct usage_quota *others = NULL;
    for (int i = 0; i < q->n; i++) {
        if (strcmp(q->quotas[i].name, tenant) == 0)
            return &q->quotas[i];
        if (strcmp(q->quotas[i].name, "*") == 0)
            others = &q->quotas[i];
    }
    return others;
}

/* Begins a new minute or day where one has passed. */
static void turn(struct meter *meter, int64_t unix_s)
{
    for (int kind = 0; kind < USAGE_QUOTA_KINDS; kind++) {
        if (meter->window[kind] == unix_s / span_s[kind])
            continue;
        meter->window[kind] = unix_s / span_s[kind];
        meter->n[kind] = 0;
    }
}

/* Returns the meter of a key. A new one has its share of the counts of today's usage, which all
 * gateways write. */
static int32_t meter_of(struct usage_quotas *q, const struct usage *usage, struct usage_who who,
                        int64_t unix_s)
{
    uint64_t name = hash_secure(who.tenant, strlen(who.tenant) + 1, who.key, strlen(who.key)).low;
    uint32_t at = map_find(&q->by_key, name);
    if (at != MAP_NONE)
        return (int32_t)at;
    if (q->n_meters == USAGE_METERS_MAX)
        return USAGE_METERS_MAX - 1;
    struct meter *meter = &q->meters[q->n_meters];
    struct usage_counts today = usage_find(usage, who.tenant, who.key, (int32_t)(unix_s / DAY_S));
    turn(meter, unix_s);
    meter->n[USAGE_RPD] = today.n_requests / q->n_gateways;
    meter->n[USAGE_TPD] = (today.n_in + today.n_out) / q->n_gateways;
    CHECK(map_put(&q->by_key, name, (uint32_t)q->n_meters));
    return q->n_meters++;
}

/* Puts a bound into what the client is told, if it has less left than the one there. */
static void tell(struct usage_allowance *allowance, enum usage_quota_kind kind, int64_t most,
                 int64_t n, int64_t unix_s)
{
    int which = kind == USAGE_TPM || kind == USAGE_TPD;
    int64_t left = max_i64(most - n, 0);
    if (allowance->of[which].most > 0 && allowance->of[which].left <= left)
        return;
    allowance->of[which].most = most;
    allowance->of[which].left = left;
    allowance->of[which].reset_s = (int32_t)(span_s[kind] - unix_s % span_s[kind]);
}

bool usage_quotas_enter(struct usage_quotas *q, const struct usage *usage, struct usage_who who,
                        int64_t unix_s, int32_t *at, struct usage_allowance *allowance)
{
    const struct usage_quota *quota = quota_of(q, who.tenant);
    *allowance = (struct usage_allowance){ 0 };
    *at = USAGE_METER_NONE;
    if (quota == NULL)
        return true;
    *at = meter_of(q, usage, who, unix_s);
    struct meter *meter = &q->meters[*at];
    turn(meter, unix_s);
    for (int kind = 0; kind < USAGE_QUOTA_KINDS; kind++) {
        int64_t most = (quota->most[kind] + q->n_gateways - 1) / q->n_gateways;
        int32_t left_s = (int32_t)(span_s[kind] - unix_s % span_s[kind]);
        if (most > 0 && meter->n[kind] >= most && left_s > allowance->retry_s) {
            allowance->retry_s = left_s;
            allowance->refused = (enum usage_quota_kind)kind;
        }
    }
    bool is_admitted = allowance->retry_s == 0;
    meter->n[USAGE_RPM] += is_admitted;
    meter->n[USAGE_RPD] += is_admitted;
    for (int kind = 0; kind < USAGE_QUOTA_KINDS; kind++)
        if (quota->most[kind] > 0)
            tell(allowance, (enum usage_quota_kind)kind,
                 (quota->most[kind] + q->n_gateways - 1) / q->n_gateways, meter->n[kind], unix_s);
    return is_admitted;
}

void usage_quotas_spend(struct usage_quotas *q, int32_t at, int64_t unix_s, int64_t n_tokens)
{
    if (at == USAGE_METER_NONE)
        return;
    turn(&q->meters[at], unix_s);
    q->meters[at].n[USAGE_TPM] += n_tokens;
    q->meters[at].n[USAGE_TPD] += n_tokens;
}
