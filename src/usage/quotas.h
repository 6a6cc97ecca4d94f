/* Quotas: how many requests and tokens each key may have in a minute and in a day (UTC).
 *
 * A quota is written NAME=rpm:60/tpm:10000/rpd:1000/tpd:100000 with any of the four. NAME is a
 * tenant, each of whose keys has the quota for itself, or * for all other keys. With n gateways
 * each gives an n-th part, rounded up.
 *
 * A request counts when it comes. Tokens count when a prompt is submitted and when each token is
 * drawn, so a request that was admitted may go beyond a quota of tokens, and is answered to its
 * end. Minutes and days begin with the clock's. The counts of a day are those of the usage, so they
 * outlive the process. */
#pragma once
#include "usage/usage.h"

enum { USAGE_QUOTAS_MAX = 256, USAGE_METERS_MAX = 2048 };
enum usage_quota_kind { USAGE_RPM, USAGE_TPM, USAGE_RPD, USAGE_TPD, USAGE_QUOTA_KINDS };

struct usage_quota {
    char name[USAGE_NAME_BYTES];
    int64_t most[USAGE_QUOTA_KINDS]; /* 0: not bounded */
};
/* Reads a quota. Returns false with a sentence when it is malformed. */
bool usage_quotas_read(struct usage_quota *quota, const char *text, struct fault *fault);

struct usage_quotas;
struct usage_quotas *usage_quotas_open(int32_t n_gateways);
void usage_quotas_close(struct usage_quotas *quotas);
/* Replaces the quotas; malformed ones are left out. The counts stay. */
void usage_quotas_set(struct usage_quotas *quotas, const char *const *texts, int n);

/* A client is told this: for requests and for tokens, the bound that has the least left. */
struct usage_allowance {
    struct {
        int64_t most, left;        /* most 0: not bounded */
        int32_t reset_s;           /* until it is whole again */
    } of[2];                       /* requests, tokens */
    int32_t retry_s;               /* refused: when it is worthwhile to try again */
    enum usage_quota_kind refused; /* the bound that was met */
};
enum { USAGE_METER_NONE = -1 };
struct usage_who {
    const char *tenant, *key;
};
/* Counts a request of a key at this time (UTC). Returns false when a bound is met; then the request
 * does not count. *meter is for usage_quotas_spend, NONE: the key has no quota. */
bool usage_quotas_enter(struct usage_quotas *quotas, const struct usage *usage,
                        struct usage_who who, int64_t unix_s, int32_t *meter,
                        struct usage_allowance *allowance);
void usage_quotas_spend(struct usage_quotas *quotas, int32_t meter, int64_t unix_s,
                        int64_t n_tokens);
