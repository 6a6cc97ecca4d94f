/* Reads measured tables and host terms of a scenario's services. */
#include "scenario/tables.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

enum { TABLE_BYTES_MAX = 256 << 20 };

static const struct truth_range range = { 16, 4096, 256, 64, 8192 };

enum status scenario_tables_check(const struct scenario_service *service, bool has_profile,
                                  struct fault *fault)
{
    const char *of_profile = service->profile_cores > 0   ? "profile_cores"
                             : service->profile_scale > 0 ? "profile_scale"
                             : service->profile_points    ? "profile_points"
                                                          : NULL;
    const char *of_tables = service->table_layers > 0 ? "table_layers"
                            : service->table_skew > 0 ? "table_skew"
                                                      : NULL;
    bool has_tables = service->tables.n > 0;
    if (has_profile && has_tables)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "service %.60s: a profile and tables both give its times, expected one of "
                         "the two",
                         service->name);
    if (of_profile != NULL && !has_profile)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "service %.60s: %s is for a profile, expected profile: FILE beside it or "
                         "--profile %.60s=FILE",
                         service->name, of_profile, service->name);
    if (of_tables != NULL && !has_tables)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "service %.60s: %s is for tables, expected tables: [FILE, ...] beside it",
                         service->name, of_tables);
    return STATUS_OK;
}

static enum status read_table(const struct scenario_service *service, const char *path,
                              struct costs *costs, struct fault *fault)
{
    char *text;
    size_t n_bytes;
    struct fault inner;
    int32_t n_layers = service->table_layers > 0 ? (int32_t)service->table_layers : 1;
    enum status status = file_read_regular(path, TABLE_BYTES_MAX, &text, &n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    status = costs_read_any(costs, text, n_layers, &inner);
    if (status != STATUS_OK)
        (void)fault_set(fault, status, "%.120s: %.100s", path, inner.text);
    mem_give(text);
    return status;
}

enum status scenario_tables_open(const struct scenario_service *service, struct costs *costs,
                                 struct perf *perf, struct fault *fault)
{
    struct truth_reduced reduced;
    *costs = (struct costs){ 0 };
    for (int i = 0; i < service->tables.n; i++) {
        enum status status = read_table(service, service->tables.at[i], costs, fault);
        if (status != STATUS_OK)
            return status;
    }
    costs->skew = service->table_skew;
    costs->host_ms += service->host.ms;
    costs->host_request_ms += service->host.request_us * 1e-3;
    costs->host_prompt_ms += service->host.prompt_ms;
    costs->host_token_ms += service->host.token_us * 1e-3;
    const struct perf_truth truth = costs_truth(costs);
    if (!truth_reduce(&truth, &range, &reduced))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "service %.60s: its tables do not tell what prompts and decodes cost",
                         service->name);
    *perf = reduced.perf;
    return STATUS_OK;
}

void scenario_tables_add_host(const struct scenario_host *host, struct perf *perf)
{
    int64_t step_ps = (int64_t)(host->ms * 1e9), token_ps = (int64_t)(host->token_us * 1e6);
    int64_t request_ps = (int64_t)(host->request_us * 1e6);
    int64_t prompt_ps = step_ps + (int64_t)(host->prompt_ms * 1e9);
    perf->floor_ps += perf->floor_ps > 0 ? prompt_ps : 0;
    perf->c1_ps += prompt_ps;
    perf->k1_ps += token_ps;
    for (int i = 0; i < 2; i++) {
        perf->c3_ps[i] += step_ps;
        perf->c2_ps[i] += request_ps + token_ps;
    }
}

void scenario_tables_host_points(const struct scenario_host *host, struct perf_points *points)
{
    points->step_ps = (int64_t)(host->ms * 1e9);
    points->prompt_ps = (int64_t)(host->prompt_ms * 1e9);
    points->request_ps = (int64_t)(host->request_us * 1e6);
    points->token_ps = (int64_t)(host->token_us * 1e6);
}

static void scale(double factor, int64_t *ps)
{
    *ps = (int64_t)num_floor((double)*ps * factor + 0.5);
}

void scenario_tables_scale(double factor, struct perf *perf)
{
    scale(factor, &perf->floor_ps);
    scale(factor, &perf->c1_ps);
    scale(factor, &perf->k1_ps);
    scale(factor, &perf->q1_ps);
    for (int i = 0; i < 2; i++) {
        scale(factor, &perf->c3_ps[i]);
        scale(factor, &perf->c2_ps[i]);
        scale(factor, &perf->k2_ps[i]);
    }
}
