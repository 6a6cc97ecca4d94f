/* The only clock. Time is int64 nanoseconds everywhere. */
#pragma once
#include "base/base.h"

#define TIME_NEVER     INT64_MAX
#define TIME_NS_PER_S  INT64_C(1000000000)
#define TIME_NS_PER_MS INT64_C(1000000)

int64_t time_now_ns(void);  /* monotonic */
int64_t time_boot_ns(void); /* monotonic, and goes on while the machine sleeps: for leases */
int64_t time_unix_ns(void); /* wall clock, for stamps that people and clients read */
void time_sleep_ns(int64_t ns);
int64_t time_thread_cpu_ns(void); /* processor time of the calling thread */
