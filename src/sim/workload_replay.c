/* Parts that play from files: traces, lengths of traces, and Azure's functions.
 *
 * Azure functions come as 2019's counts (HashOwner, HashApp, HashFunction, Trigger, then a column a
 * minute) or as 2021's calls (app, func, end_timestamp, duration). Function f goes to service f mod
 * services, as AlpaServe deals them out; a minute's calls are spread as gaps of the coefficient cv.
 */
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "sim/trace_read.h"
#include "sim/workload_part.h"
#include <stdlib.h>
#include <string.h>

enum { MINUTES_MAX = 14 * 1440, CALLS_MAX = 1 << 24, FUNCTIONS_MAX = 1 << 14 };

/* ---- Traces. ---- */

static double rate_of(const struct sim_trace *trace, int64_t from_ns, int64_t to_ns)
{
    size_t n = 0;
    int64_t last_ns = from_ns;
    for (size_t i = 0; i < trace->n_rows; i++)
        if (trace->rows[i].arrived_ns >= from_ns && trace->rows[i].arrived_ns < to_ns) {
            last_ns = trace->rows[i].arrived_ns;
            n++;
        }
    return n > 1 && last_ns > from_ns ? (double)n * 1e9 / (double)(last_ns - from_ns) : 0;
}

static enum status set_window(struct sim_workload_part *part, struct sim_replay *replay)
{
    replay->from_ns = (int64_t)(sim_workload_part_number(part, SIM_KEY_FROM, 0) * 1e9 + 0.5);
    replay->to_ns = (int64_t)(sim_workload_part_number(part, SIM_KEY_TO, 0) * 1e9 + 0.5);
    replay->speed = sim_workload_part_number(part, SIM_KEY_SPEED, 1);
    replay->n_repeats = (uint32_t)sim_workload_part_number(part, SIM_KEY_REPEAT, 1);
    if (replay->to_ns > 0 && replay->to_ns <= replay->from_ns)
        return sim_workload_part_bad(part, "to lies before from");
    if (sim_workload_part_has(part, SIM_KEY_RATE)) {
        double rate =
            rate_of(replay->trace, replay->from_ns, replay->to_ns > 0 ? replay->to_ns : TIME_NEVER);
        if (sim_workload_part_has(part, SIM_KEY_SPEED))
            return sim_workload_part_bad(part, "rate and speed say the same");
        if (!(rate > 0))
            return sim_workload_part_bad(part, "the trace has no rate that could be scaled");
        replay->speed = part->numbers[SIM_KEY_RATE] / rate;
    }
    return sim_workload_lengths_bound(part, &replay->filter);
}

static enum status play(struct sim_workload_part *part, struct sim_trace *trace)
{
    struct sim_workload *w = part->workload;
    if (w->n_replays == SIM_REPLAYS_MAX) {
        sim_trace_free(trace);
        return sim_workload_part_bad(part, "more than %d traces", SIM_REPLAYS_MAX);
    }
    struct sim_replay *replay = &w->replays[w->n_replays++]; /* it owns the trace from here on */
    *replay = (struct sim_replay){ .trace = trace };
    const char *one = sim_workload_part_text(part, SIM_KEY_SERVICE, NULL);
    const char *model = sim_workload_part_text(part, SIM_KEY_MODEL, NULL);
    for (uint32_t i = 0; i < trace->n_models; i++) {
        const char *name = one != NULL                   ? one
                           : trace->models[i][0] != '\0' ? trace->models[i]
                                                         : part->kind;
        int32_t service = sim_workload_part_service(part, name, model);
        if (service < 0)
            return STATUS_BAD_INPUT;
        replay->service_of[i] = (uint16_t)service;
    }
    return set_window(part, replay);
}

static enum status draw_from(struct sim_workload_part *part, const struct sim_pair *pairs,
                             uint32_t n)
{
    struct sim_traffic traffic = { .pairs = pairs, .n_pairs = n };
    enum status status = sim_workload_lengths_bound(part, &traffic.filter);
    if (status == STATUS_OK)
        status = sim_workload_arrivals_set(part, &traffic, 0);
    int32_t service = status == STATUS_OK
                          ? sim_workload_part_service(
                                part, sim_workload_part_text(part, SIM_KEY_SERVICE, part->kind),
                                sim_workload_part_text(part, SIM_KEY_MODEL, NULL))
                          : -1;
    if (service < 0)
        return STATUS_BAD_INPUT;
    sim_workload_part_add(part, service, &traffic);
    return STATUS_OK;
}

static const struct sim_pair *pairs_of(struct sim_workload_part *part,
                                       const struct sim_trace *trace)
{
    struct sim_pair *all = sim_workload_part_take(part, trace->n_rows * sizeof(*all));
    for (size_t i = 0; i < trace->n_rows; i++)
        all[i] = (struct sim_pair){ trace->rows[i].n_prompt, trace->rows[i].n_output };
    return all;
}

enum status sim_workload_replay_pairs(struct sim_workload_part *part, const char *path,
                                      const struct sim_pair **pairs, uint32_t *n)
{
    struct sim_trace *trace = mem_take(sizeof(*trace));
    enum status status = sim_trace_read(trace, path, part->fault);
    if (status == STATUS_OK) {
        *pairs = pairs_of(part, trace);
        *n = (uint32_t)trace->n_rows;
    }
    sim_trace_free(trace);
    mem_give(trace);
    return status;
}

enum status sim_workload_replay_file(struct sim_workload_part *part)
{
    /* With arrivals of its own, or without times, a file is a bag of lengths. */
    bool is_drawn =
        sim_workload_part_has(part, SIM_KEY_ARRIVALS) || sim_workload_part_has(part, SIM_KEY_CV) ||
        sim_workload_part_has(part, SIM_KEY_PROFILE) || sim_workload_part_has(part, SIM_KEY_ON);
    struct sim_trace *trace = sim_workload_part_take(part, sizeof(*trace));
    enum status status = sim_trace_read(trace, part->path, part->fault);
    if (status == STATUS_OK && !is_drawn && trace->has_times)
        return play(part, trace);
    if (status == STATUS_OK)
        status = draw_from(part, pairs_of(part, trace), (uint32_t)trace->n_rows);
    sim_trace_free(trace);
    return status;
}

/* ---- Functions. ---- */

struct functions {
    struct sim_trace_place place;
    uint32_t n_services, n_minutes;
    double *counts; /* (n_services, MINUTES_MAX) */
    int64_t *calls[LIMIT_SERVICES];
    size_t n_calls[LIMIT_SERVICES], capacity[LIMIT_SERVICES];
    uint64_t *functions; /* (n_functions) of calls: hashes of their names, as they first appear */
    uint32_t n_functions;
};

static struct view cut_field(struct view *line)
{
    const char *comma = line->n > 0 ? memchr(line->at, ',', line->n) : NULL;
    struct view field = view_of(line->at, comma != NULL ? (size_t)(comma - line->at) : line->n);
    size_t taken = field.n + (comma != NULL);
    *line = view_of(line->at + taken, line->n - taken);
    return field;
}

static enum status read_minutes(struct functions *f, struct view line, uint32_t function)
{
    double *counts = &f->counts[(size_t)(function % f->n_services) * MINUTES_MAX];
    int64_t n;
    uint32_t minute = 0;
    for (int i = 0; i < 4; i++)
        cut_field(&line);
    for (; line.n > 0; minute++) {
        struct view field = cut_field(&line);
        if (minute == MINUTES_MAX)
            return sim_trace_read_bad(&f->place, "more than %d minutes", MINUTES_MAX);
        if (!sim_trace_read_i64(field, 0, 1000000000, &n))
            return sim_trace_read_bad(&f->place, "minute %u is \"%s\", expected a count",
                                      minute + 1, sim_trace_read_word(field).text);
        counts[minute] += (double)n;
    }
    f->n_minutes = minute > f->n_minutes ? minute : f->n_minutes;
    return STATUS_OK;
}

static void add_call(struct functions *f, uint32_t service, int64_t ns)
{
    if (f->n_calls[service] == f->capacity[service]) {
        size_t capacity = f->capacity[service] > 0 ? 2 * f->capacity[service] : 1024;
        f->calls[service] = mem_grow(f->calls[service], f->capacity[service] * sizeof(int64_t),
                                     capacity * sizeof(int64_t));
        f->capacity[service] = capacity;
    }
    f->calls[service][f->n_calls[service]++] = ns;
}

/* Functions are numbered as they first appear. FUNCTIONS_MAX: there are more. */
static uint32_t number_of(struct functions *f, struct view name)
{
    uint64_t hash = hash_fast(name.at, name.n, 0).low;
    uint32_t i = 0;
    while (i < f->n_functions && f->functions[i] != hash)
        i++;
    if (i == f->n_functions && i < FUNCTIONS_MAX)
        f->functions[f->n_functions++] = hash;
    return i;
}

static enum status read_call(struct functions *f, struct view line)
{
    double end_s, duration_s;
    cut_field(&line);
    struct view name = cut_field(&line), end = cut_field(&line), duration = cut_field(&line);
    if (!sim_trace_read_f64(end, &end_s) || !sim_trace_read_f64(duration, &duration_s) ||
        !(end_s >= 0 && end_s < 4e9) || !(duration_s >= 0 && duration_s < 4e9))
        return sim_trace_read_bad(&f->place, "no end_timestamp and duration in seconds");
    uint32_t function = number_of(f, name), service = function % f->n_services;
    if (function == FUNCTIONS_MAX)
        return sim_trace_read_bad(&f->place, "more than %d functions", FUNCTIONS_MAX);
    if (f->n_calls[service] == CALLS_MAX)
        return sim_trace_read_bad(&f->place, "more than %d calls of a service", CALLS_MAX);
    add_call(f, service, max_i64((int64_t)((end_s - duration_s) * 1e9), 0));
    return STATUS_OK;
}

static enum status read_functions(struct functions *f, struct view text, bool *has_minutes)
{
    struct view line = view_of("", 0);
    uint32_t n = 0;
    enum status status = STATUS_OK;
    sim_trace_read_line(&text, &line);
    f->place.line = 1;
    *has_minutes = view_starts(line, "HashOwner,HashApp,HashFunction,Trigger,1");
    if (!*has_minutes && !view_equal_text(line, "app,func,end_timestamp,duration"))
        return sim_trace_read_bad(&f->place, "neither HashOwner,HashApp,HashFunction,Trigger,1,... "
                                             "nor app,func,end_timestamp,duration");
    while (status == STATUS_OK && sim_trace_read_line(&text, &line)) {
        f->place.line++;
        if (line.n > 0)
            status = *has_minutes ? read_minutes(f, line, n++) : read_call(f, line);
    }
    return status;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* One service's source. False: its functions were never called. */
static bool make_source(struct sim_workload_part *part, const struct functions *f, uint32_t i,
                        bool has_minutes, struct sim_traffic *traffic)
{
    if (!has_minutes) {
        size_t n = f->n_calls[i];
        if (n == 0)
            return false;
        int64_t *times = sim_workload_part_take(part, n * sizeof(*times));
        memcpy(times, f->calls[i], n * sizeof(*times));
        qsort(times, n, sizeof(*times), compare_times);
        traffic->times_ns = times;
        traffic->n_times = n;
        return true;
    }
    double sum = 0;
    for (uint32_t k = 0; k < f->n_minutes; k++)
        sum += f->counts[(size_t)i * MINUTES_MAX + k];
    if (!(sum > 0))
        return false;
    float *factors = sim_workload_part_take(part, f->n_minutes * sizeof(*factors));
    struct sim_profile *profile = sim_workload_part_take(part, sizeof(*profile));
    for (uint32_t k = 0; k < f->n_minutes; k++)
        factors[k] = (float)(f->counts[(size_t)i * MINUTES_MAX + k] * f->n_minutes / sum);
    *profile = (struct sim_profile){ sim_workload_part_number(part, SIM_KEY_STEP, 60), f->n_minutes,
                                     factors };
    traffic->profile = profile;
    traffic->rate_per_s = sum / (60.0 * f->n_minutes);
    if (sim_workload_part_has(part, SIM_KEY_CV)) {
        traffic->arrivals = SIM_GAMMA;
        traffic->cv = part->numbers[SIM_KEY_CV];
    }
    return true;
}

static double rate_of_source(const struct sim_traffic *t)
{
    if (t->times_ns == NULL)
        return t->rate_per_s;
    return (double)t->n_times * 1e9 / (double)max_i64(t->times_ns[t->n_times - 1], 1);
}

static enum status deal_out(struct sim_workload_part *part, const struct functions *f,
                            bool has_minutes)
{
    struct sim_traffic sources[LIMIT_SERVICES], usual = { 0 };
    double total = 0, factor = 1;
    const char *otherwise = sim_workload_part_has(part, SIM_KEY_IN) ? NULL : "sharegpt";
    enum status status = sim_workload_lengths_set(
        part, &usual, sim_workload_part_text(part, SIM_KEY_LENGTHS, otherwise));
    bool is_there[LIMIT_SERVICES];
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < f->n_services; i++) {
        sources[i] = usual;
        is_there[i] = make_source(part, f, i, has_minutes, &sources[i]);
        total += is_there[i] ? rate_of_source(&sources[i]) : 0;
    }
    if (!(total > 0))
        return sim_workload_part_bad(part, "no function was called");
    if (sim_workload_part_has(part, SIM_KEY_RATE))
        factor = part->numbers[SIM_KEY_RATE] / total;
    for (uint32_t i = 0; i < f->n_services; i++) {
        int32_t service =
            sim_workload_part_service(part, sim_workload_part_format(part, "functions-%u", i),
                                      sim_workload_part_text(part, SIM_KEY_MODEL, NULL));
        if (service < 0)
            return STATUS_BAD_INPUT;
        sources[i].rate_per_s *= factor;
        sources[i].times_speed = factor;
        if (is_there[i])
            sim_workload_part_add(part, service, &sources[i]);
    }
    return STATUS_OK;
}

enum status sim_workload_replay_functions(struct sim_workload_part *part)
{
    char *content = NULL;
    size_t n;
    bool has_minutes = false;
    enum status status = file_read_regular(part->path, (size_t)1 << 30, &content, &n, part->fault);
    if (status != STATUS_OK)
        return status;
    struct functions f = { .place = { part->path, 1, part->fault } };
    f.n_services = (uint32_t)sim_workload_part_number(part, SIM_KEY_SERVICES, 1);
    f.functions = mem_take(FUNCTIONS_MAX * sizeof(*f.functions));
    f.counts = mem_take(f.n_services * MINUTES_MAX * sizeof(*f.counts));
    status = read_functions(&f, view_of(content, n), &has_minutes);
    if (status == STATUS_OK)
        status = deal_out(part, &f, has_minutes);
    for (int i = 0; i < LIMIT_SERVICES; i++)
        mem_give(f.calls[i]);
    mem_give(f.functions);
    mem_give(f.counts);
    mem_give(content);
    return status;
}
