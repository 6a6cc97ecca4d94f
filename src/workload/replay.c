/* Makes parts that play files: traces, lengths of traces, and Azure's functions.
 *
 * Azure functions come as 2019's counts (HashOwner, HashApp, HashFunction, Trigger, then a column a
 * minute) or as 2021's calls (app, func, end_timestamp, duration). Function f goes to service f mod
 * services, as AlpaServe assigns them. A minute's calls are spread as gaps of the coefficient
 * cv. */
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "workload/part.h"
#include "workload/trace_read.h"
#include <stdlib.h>
#include <string.h>

enum { MINUTES_MAX = 14 * 1440, CALLS_MAX = 1 << 24, FUNCTIONS_MAX = 1 << 14 };

/* ---- Traces. ---- */

/* Returns how many requests the window has; *last_ns: the time of the last one after its
 * beginning. */
static size_t count_window(const struct workload_replay *replay, int64_t *last_ns)
{
    int64_t to_ns = replay->to_ns > 0 ? replay->to_ns : TIME_NEVER;
    size_t n = 0;
    *last_ns = 0;
    for (size_t i = 0; i < replay->trace->n_rows; i++) {
        int64_t at_ns = replay->trace->rows[i].arrived_ns;
        if (at_ns < replay->from_ns || at_ns >= to_ns)
            continue;
        *last_ns = at_ns - replay->from_ns;
        n++;
    }
    return n;
}

static enum status set_window(struct workload_part *part, struct workload_replay *replay)
{
    const struct workload_trace *trace = replay->trace;
    int64_t last_ns;
    replay->from_ns = (int64_t)(workload_part_number(part, WORKLOAD_KEY_FROM, 0) * 1e9 + 0.5);
    replay->to_ns = (int64_t)(workload_part_number(part, WORKLOAD_KEY_TO, 0) * 1e9 + 0.5);
    replay->speed = workload_part_number(part, WORKLOAD_KEY_SPEED, 1);
    replay->n_repeats = (uint32_t)workload_part_number(part, WORKLOAD_KEY_REPEAT, 1);
    if (replay->to_ns > 0 && replay->to_ns <= replay->from_ns)
        return workload_part_bad(part, "to lies before from");
    size_t n = count_window(replay, &last_ns);
    if (n == 0)
        return workload_part_bad(part,
                                 "no request lies between from and to: the first of the trace "
                                 "is at 0 s, the last at %.6g s",
                                 (double)trace->rows[trace->n_rows - 1].arrived_ns * 1e-9);
    if (workload_part_has(part, WORKLOAD_KEY_RATE)) {
        if (workload_part_has(part, WORKLOAD_KEY_SPEED))
            return workload_part_bad(part, "rate and speed set the same thing");
        if (n == 1 || last_ns == 0)
            return workload_part_bad(part, "its requests come at one time, so that they have "
                                           "no rate that could be scaled");
        replay->speed = part->numbers[WORKLOAD_KEY_RATE] * (double)last_ns * 1e-9 / (double)n;
    }
    return workload_lengths_bound(part, &replay->filter);
}

static enum status play(struct workload_part *part, struct workload_trace *trace)
{
    struct workload *w = part->workload;
    if (w->n_replays == WORKLOAD_REPLAYS_MAX) {
        workload_trace_free(trace);
        return workload_part_bad(part, "more than %d traces", WORKLOAD_REPLAYS_MAX);
    }
    struct workload_replay *replay =
        &w->replays[w->n_replays++]; /* it owns the trace from here on */
    *replay = (struct workload_replay){ .trace = trace };
    const char *one = workload_part_text(part, WORKLOAD_KEY_SERVICE, NULL);
    const char *model = workload_part_text(part, WORKLOAD_KEY_MODEL, NULL);
    for (uint32_t i = 0; i < trace->n_models; i++) {
        const char *name = one != NULL                   ? one
                           : trace->models[i][0] != '\0' ? trace->models[i]
                                                         : part->kind;
        int32_t service = workload_part_service(part, name, model);
        if (service < 0)
            return STATUS_BAD_INPUT;
        replay->service_of[i] = (uint16_t)service;
    }
    return set_window(part, replay);
}

static enum status draw_from(struct workload_part *part, const struct workload_pair *pairs,
                             uint32_t n)
{
    struct workload_traffic traffic = { .pairs = pairs, .n_pairs = n };
    enum status status = workload_lengths_bound(part, &traffic.filter);
    if (status == STATUS_OK)
        status = workload_arrivals_set(part, &traffic, 0);
    int32_t service = status == STATUS_OK
                          ? workload_part_service(
                                part, workload_part_text(part, WORKLOAD_KEY_SERVICE, part->kind),
                                workload_part_text(part, WORKLOAD_KEY_MODEL, NULL))
                          : -1;
    if (service < 0)
        return STATUS_BAD_INPUT;
    workload_part_add(part, service, &traffic);
    return STATUS_OK;
}

static const struct workload_pair *pairs_of(struct workload_part *part,
                                            const struct workload_trace *trace)
{
    struct workload_pair *all = workload_part_take(part, trace->n_rows * sizeof(*all));
    for (size_t i = 0; i < trace->n_rows; i++)
        all[i] = (struct workload_pair){ trace->rows[i].n_prompt, trace->rows[i].n_output };
    return all;
}

enum status workload_replay_pairs(struct workload_part *part, const char *path,
                                  const struct workload_pair **pairs, uint32_t *n)
{
    struct workload_trace *trace = mem_take(sizeof(*trace));
    enum status status = workload_trace_read(trace, path, part->fault);
    if (status == STATUS_OK) {
        *pairs = pairs_of(part, trace);
        *n = (uint32_t)trace->n_rows;
    }
    workload_trace_free(trace);
    mem_give(trace);
    return status;
}

enum status workload_replay_file(struct workload_part *part)
{
    /* With the keys of arrivals, or without times in the file, a file only supplies lengths. */
    bool is_drawn = workload_part_has(part, WORKLOAD_KEY_ARRIVALS) ||
                    workload_part_has(part, WORKLOAD_KEY_CV) ||
                    workload_part_has(part, WORKLOAD_KEY_PROFILE) ||
                    workload_part_has(part, WORKLOAD_KEY_ON);
    struct workload_trace *trace = workload_part_take(part, sizeof(*trace));
    enum status status = workload_trace_read(trace, part->path, part->fault);
    if (status == STATUS_OK && !is_drawn && trace->has_times)
        return play(part, trace);
    if (status == STATUS_OK)
        status = draw_from(part, pairs_of(part, trace), (uint32_t)trace->n_rows);
    workload_trace_free(trace);
    return status;
}

/* ---- Functions. ---- */

struct functions {
    struct workload_trace_place place;
    struct workload_trace_origin origin; /* of calls */
    int64_t last_ns;                     /* the last call */
    uint32_t n_services, n_minutes, first_minute;
    double *counts;                 /* (n_services, MINUTES_MAX) */
    int64_t *calls[LIMIT_SERVICES]; /* ns since the origin, then since the first call */
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
            return workload_trace_read_bad(&f->place, "more than %d minutes", MINUTES_MAX);
        if (!workload_trace_read_i64(field, 0, 1000000000, &n))
            return workload_trace_read_bad(&f->place, "minute %u is \"%s\", expected a count",
                                           minute + 1, workload_trace_read_word(field).text);
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

/* Returns the number of a function; functions are numbered as they first appear. FUNCTIONS_MAX:
 * there are too many. */
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
    struct workload_trace_time time;
    int64_t ns, duration_ns;
    cut_field(&line);
    struct view name = cut_field(&line), end = cut_field(&line), duration = cut_field(&line);
    if (!workload_trace_read_time(end, TIME_NS_PER_S, &time) ||
        !workload_trace_read_ns(duration, TIME_NS_PER_S, &duration_ns))
        return workload_trace_read_bad(&f->place, "no end_timestamp and duration in seconds");
    time.s -= duration_ns / TIME_NS_PER_S + (time.ns < duration_ns % TIME_NS_PER_S);
    time.ns = (time.ns + TIME_NS_PER_S - duration_ns % TIME_NS_PER_S) % TIME_NS_PER_S;
    if (!workload_trace_read_since(&f->origin, time, &ns))
        return workload_trace_read_bad(&f->place,
                                       "it begins over a century before or after the first");
    uint32_t function = number_of(f, name), service = function % f->n_services;
    if (function == FUNCTIONS_MAX)
        return workload_trace_read_bad(&f->place, "more than %d functions", FUNCTIONS_MAX);
    if (f->n_calls[service] == CALLS_MAX)
        return workload_trace_read_bad(&f->place, "more than %d calls of a service", CALLS_MAX);
    add_call(f, service, ns);
    return STATUS_OK;
}

/* "HashOwner,HashApp,HashFunction,Trigger,1,2,3": a file may begin at any minute of its day. */
static enum status read_labels(struct functions *f, struct view line)
{
    int64_t first = 0, label;
    for (int i = 0; i < 4; i++)
        cut_field(&line);
    for (int64_t i = 0; line.n > 0; i++) {
        struct view field = cut_field(&line);
        if (!workload_trace_read_i64(field, 0, INT32_MAX, &label) || (i > 0 && label != first + i))
            return workload_trace_read_bad(&f->place,
                                           "column \"%s\" is not the next minute's number",
                                           workload_trace_read_word(field).text);
        first = i == 0 ? label : first;
    }
    return STATUS_OK;
}

/* Drops the time before the first call, which becomes time zero. */
static void begin_at_first(struct functions *f)
{
    int64_t first_ns = INT64_MAX;
    for (uint32_t s = 0; s < f->n_services; s++)
        for (size_t i = 0; i < f->n_calls[s]; i++)
            first_ns = min_i64(first_ns, f->calls[s][i]);
    for (uint32_t s = 0; s < f->n_services; s++)
        for (size_t i = 0; i < f->n_calls[s]; i++) {
            f->calls[s][i] -= first_ns;
            f->last_ns = max_i64(f->last_ns, f->calls[s][i]);
        }
    f->first_minute = f->n_minutes;
    for (uint32_t s = 0; s < f->n_services; s++)
        for (uint32_t k = 0; k < f->first_minute; k++)
            if (f->counts[(size_t)s * MINUTES_MAX + k] > 0)
                f->first_minute = k;
}

static enum status read_functions(struct functions *f, struct view text, bool *has_minutes)
{
    struct view line = view_of("", 0);
    uint32_t n = 0;
    enum status status = STATUS_OK;
    workload_trace_read_line(&text, &line);
    f->place.line = 1;
    *has_minutes = view_starts(line, "HashOwner,HashApp,HashFunction,Trigger,");
    if (!*has_minutes && !view_equal_text(line, "app,func,end_timestamp,duration"))
        return workload_trace_read_bad(&f->place,
                                       "neither HashOwner,HashApp,HashFunction,Trigger,1,... "
                                       "nor app,func,end_timestamp,duration");
    if (*has_minutes)
        status = read_labels(f, line);
    while (status == STATUS_OK && workload_trace_read_line(&text, &line)) {
        f->place.line++;
        if (line.n > 0)
            status = *has_minutes ? read_minutes(f, line, n++) : read_call(f, line);
    }
    begin_at_first(f);
    return status;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Makes calls at the times in the file. rate_per_s is the expected rate of the service. */
static void make_calls(struct workload_part *part, const struct functions *f, uint32_t i,
                       struct workload_traffic *traffic)
{
    size_t n = f->n_calls[i];
    int64_t *times = workload_part_take(part, n * sizeof(*times));
    memcpy(times, f->calls[i], n * sizeof(*times));
    qsort(times, n, sizeof(*times), compare_times);
    traffic->times_ns = times;
    traffic->n_times = n;
    traffic->rate_per_s = workload_expect_rate((double)n, f->last_ns);
}

/* Makes one service's source. Returns false when its functions were never called. */
static bool make_source(struct workload_part *part, const struct functions *f, uint32_t i,
                        bool has_minutes, struct workload_traffic *traffic)
{
    double sum = 0;
    const double *counts = &f->counts[(size_t)i * MINUTES_MAX + f->first_minute];
    uint32_t n_minutes = f->n_minutes - f->first_minute;
    if (!has_minutes) {
        if (f->n_calls[i] > 0)
            make_calls(part, f, i, traffic);
        return f->n_calls[i] > 0;
    }
    for (uint32_t k = 0; k < n_minutes; k++)
        sum += counts[k];
    if (!(sum > 0))
        return false;
    float *factors = workload_part_take(part, n_minutes * sizeof(*factors));
    struct workload_profile *profile = workload_part_take(part, sizeof(*profile));
    for (uint32_t k = 0; k < n_minutes; k++)
        factors[k] = (float)(counts[k] * n_minutes / sum);
    *profile = (struct workload_profile){ workload_part_number(part, WORKLOAD_KEY_STEP, 60),
                                          n_minutes, factors };
    traffic->profile = profile;
    traffic->rate_per_s = sum / (60.0 * n_minutes);
    if (workload_part_has(part, WORKLOAD_KEY_CV)) {
        traffic->arrivals = WORKLOAD_GAMMA;
        traffic->cv = part->numbers[WORKLOAD_KEY_CV];
    }
    return true;
}

static enum status deal_out(struct workload_part *part, const struct functions *f, bool has_minutes)
{
    struct workload_traffic sources[LIMIT_SERVICES], usual = { 0 };
    double total = 0, factor = 1;
    const char *otherwise = workload_part_has(part, WORKLOAD_KEY_IN) ? NULL : "sharegpt";
    enum status status = workload_lengths_set(
        part, &usual, workload_part_text(part, WORKLOAD_KEY_LENGTHS, otherwise));
    bool is_there[LIMIT_SERVICES];
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < f->n_services; i++) {
        sources[i] = usual;
        is_there[i] = make_source(part, f, i, has_minutes, &sources[i]);
        total += is_there[i] ? sources[i].rate_per_s : 0;
    }
    if (!(total > 0))
        return workload_part_bad(part, "no function was called");
    if (workload_part_has(part, WORKLOAD_KEY_RATE)) {
        if (!has_minutes && f->last_ns == 0)
            return workload_part_bad(part, "its calls come at one time, so that they have no "
                                           "rate that could be scaled");
        factor = part->numbers[WORKLOAD_KEY_RATE] / total;
    }
    for (uint32_t i = 0; i < f->n_services; i++) {
        int32_t service = workload_part_service(part, workload_part_format(part, "functions-%u", i),
                                                workload_part_text(part, WORKLOAD_KEY_MODEL, NULL));
        if (service < 0)
            return STATUS_BAD_INPUT;
        sources[i].rate_per_s *= factor;
        sources[i].times_speed = factor;
        if (is_there[i])
            workload_part_add(part, service, &sources[i]);
    }
    return STATUS_OK;
}

enum status workload_replay_functions(struct workload_part *part)
{
    char *content = NULL;
    size_t n;
    bool has_minutes = false;
    enum status status = file_read_regular(part->path, (size_t)1 << 30, &content, &n, part->fault);
    if (status != STATUS_OK)
        return status;
    struct functions f = { .place = { part->path, 1, part->fault } };
    f.n_services = (uint32_t)workload_part_number(part, WORKLOAD_KEY_SERVICES, 1);
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
