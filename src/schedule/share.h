/* Shares of device time: a token bucket per service, and how full it may be filled.
 *
 * A bucket is (level, since), never ticked: it fills with `phi` of the time that passes, up to a
 * depth, and while its service is served it drains at 1 - phi. Levels are whole units of ns / 2^20,
 * so that one long stretch and many short ones give the same number. */
#pragma once
#include "schedule/policy.h"

#define SHARE_ONE (INT64_C(1) << 20)

struct share_bucket {
    int64_t level, since_ns;
    int64_t phi; /* SHARE_ONE = all of the device: no cap */
    double cut;  /* of phi, for filling the pool; 1 = none */
};
void schedule_share_init(struct share_bucket *bucket, int64_t depth_ns);
int64_t schedule_share_level(const struct share_bucket *bucket, int64_t now_ns, int64_t depth_ns);
void schedule_share_settle(struct share_bucket *bucket, int64_t now_ns, int64_t depth_ns);
/* The service had the device from now_ns - elapsed_ns to now_ns. */
void schedule_share_charge(struct share_bucket *bucket, int64_t now_ns, int64_t elapsed_ns,
                           int64_t depth_ns);

struct share_load {  /* of one service */
    double solo;     /* L-hat */
    double rate;     /* requests a second */
    double marginal; /* m: device seconds a second that grow with its requests */
    double fixed;    /* F: seconds of one request that a fuller batch would share */
};
struct share_load schedule_share_load(const struct schedule_service *service);
/* Caps in (0, 1] by docs/ALGORITHMS.md 1.4, from the longest service up. False when the device is
 * overloaded: then the caps are the services' parts of the load. */
bool schedule_share_solve(const struct share_load *loads, int n, double *phi);
