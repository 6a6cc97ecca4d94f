/* Checks reports and changes of engines that came from outside. */
#include "core/report.h"

static bool is_within(int64_t n, int bits)
{
    return n >= 0 && n <= INT64_C(1) << bits;
}

/* Bounds on values that a machine can have. */
enum { BYTES_BITS = 52, TOKEN_BYTES_BITS = 30, REQUESTS_BITS = 20, SUM_BITS = 52, NS_BITS = 62 };

/* A byte that is neither 0 nor 1 is not a bool, and reading it as one is undefined. */
static bool is_bool(const bool *at)
{
    return *(const unsigned char *)at <= 1;
}

static bool are_within(const int64_t *numbers, size_t n, int bits)
{
    bool are = true;
    for (size_t i = 0; i < n; i++)
        are = are && is_within(numbers[i], bits);
    return are;
}

static bool is_part(double part) /* a fraction of a pool, or a ratio to its due part */
{
    return part >= 0; /* false for NaN */
}

static bool is_valid_row(const struct service_report *row)
{
    const int64_t bytes[] = { row->weights_bytes,   row->activation_bytes, row->kv_used_bytes,
                              row->kv_cached_bytes, row->kv_held_bytes,    row->kv_quota_bytes,
                              row->sleep_bytes };
    const int64_t sums[] = { row->n_prefix_queries, row->n_prefix_hits,  row->n_preempted,
                             row->n_swapped,        row->n_pad_tokens,   row->n_invalid_tokens,
                             row->n_static_batches, row->n_static_seats, row->n_static_early,
                             row->n_batches,        row->n_batch_rows,   row->n_exceeded,
                             row->n_forced,         row->n_arrived,      row->n_drafts,
                             row->n_drafted,        row->n_accepted,     row->n_disk_tokens,
                             row->n_disk_lost };
    return row->status <= SERVICE_BROKEN && row->progress_percent <= 100 &&
           are_within(bytes, COUNT_OF(bytes), BYTES_BITS) &&
           are_within(sums, COUNT_OF(sums), SUM_BITS) &&
           is_within(row->kv_bytes_per_token, TOKEN_BYTES_BITS) &&
           is_within(row->n_waiting, REQUESTS_BITS) && is_within(row->n_running, REQUESTS_BITS) &&
           is_within(row->n_wakes, SUM_BITS) && is_within(row->copy_permille, SUM_BITS) &&
           is_within(row->load_ns, NS_BITS) && is_within(row->solo_ns, NS_BITS) &&
           is_within(row->remaining_ns, NS_BITS) && is_part(row->kv_share) && is_part(row->kv_r) &&
           coefficients_are_sane(&row->perf);
}

bool report_is_valid(const struct engine_report *r, int n_services_max)
{
    const int64_t bytes[] = { r->memory_bytes, r->kv_pool_bytes, r->kv_free_bytes,
                              r->kv_table_bytes, r->disk_bytes };
    const int64_t sums[] = { r->n_disk_written, r->n_disk_read, r->n_disk_evicted,
                             r->n_disk_dropped, r->n_disk_failed };
    const int64_t times[] = { r->now_ns, r->step_ns, r->host_ns };
    bool is_right = r->n_services >= 0 && r->n_services <= n_services_max &&
                    is_bool(&r->is_draining) && is_bool(&r->is_healthy) && is_bool(&r->is_down) &&
                    r->n_restarts >= 0 && are_within(bytes, COUNT_OF(bytes), BYTES_BITS) &&
                    are_within(times, COUNT_OF(times), NS_BITS) &&
                    are_within(sums, COUNT_OF(sums), SUM_BITS) && is_within(r->n_steps, SUM_BITS) &&
                    is_within(r->n_requests, REQUESTS_BITS) &&
                    is_within(r->n_requests_max, REQUESTS_BITS);
    for (int i = 0; is_right && i < r->n_services; i++)
        is_right = is_valid_row(&r->services[i]);
    return is_right;
}

bool report_bytes_are_valid(int64_t n_bytes)
{
    return is_within(n_bytes, BYTES_BITS);
}

bool report_change_is_valid(const struct service_change *change)
{
    return change->status <= SERVICE_BROKEN && change->cause <= STATUS_IO &&
           report_bytes_are_valid(change->weights_bytes) &&
           report_bytes_are_valid(change->activation_bytes) &&
           report_bytes_are_valid(change->sleep_bytes) && fault_is_text(&change->fault);
}
