/* Reads workloads as text: parts, kinds, keys. */
#include "base/mem.h"
#include "base/time.h"
#include "workload/part.h"
#include "workload/trace.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 65536 };

enum form { FORM_NUMBER, FORM_WHOLE, FORM_SECONDS, FORM_TEXT };
static const struct {
    const char *name;
    enum form form;
    double min, max; /* of a number; min itself is excluded if it is 0 and the form is a number */
    const char *expected;
} keys[WORKLOAD_KEY_N_KEYS] = {
    [WORKLOAD_KEY_RATE] = { "rate", FORM_NUMBER, 0, 1e9,
                            "requests per second, above 0, up to 1e9" },
    [WORKLOAD_KEY_IN] = { "in", FORM_NUMBER, 0, LIMIT_CONTEXT,
                          "a mean of prompt tokens, above 0, up to 1048576" },
    [WORKLOAD_KEY_OUT] = { "out", FORM_NUMBER, 0, LIMIT_CONTEXT,
                           "a mean of output tokens, above 0, up to 1048576" },
    [WORKLOAD_KEY_IN_SIGMA] = { "in-sigma", FORM_NUMBER, -1, 5,
                                "a deviation of the logarithm, 0 to 5" },
    [WORKLOAD_KEY_OUT_SIGMA] = { "out-sigma", FORM_NUMBER, -1, 5,
                                 "a deviation of the logarithm, 0 to 5" },
    [WORKLOAD_KEY_IN_MIN] = { "in-min", FORM_WHOLE, 1, LIMIT_CONTEXT, "tokens, 1 to 1048576" },
    [WORKLOAD_KEY_IN_MAX] = { "in-max", FORM_WHOLE, 1, LIMIT_CONTEXT, "tokens, 1 to 1048576" },
    [WORKLOAD_KEY_OUT_MIN] = { "out-min", FORM_WHOLE, 1, LIMIT_CONTEXT, "tokens, 1 to 1048576" },
    [WORKLOAD_KEY_OUT_MAX] = { "out-max", FORM_WHOLE, 1, LIMIT_CONTEXT, "tokens, 1 to 1048576" },
    [WORKLOAD_KEY_TOTAL_MAX] = { "total-max", FORM_WHOLE, 2, LIMIT_CONTEXT,
                                 "tokens, 2 to 1048576" },
    [WORKLOAD_KEY_SCALE] = { "scale", FORM_NUMBER, 0, 1000,
                             "a factor of all lengths, above 0, up to 1000" },
    [WORKLOAD_KEY_LENGTHS] = { "lengths", FORM_TEXT, 0, 0, "the name of a kind with lengths" },
    [WORKLOAD_KEY_ARRIVALS] = { "arrivals", FORM_TEXT, 0, 0,
                                "poisson, gamma, weibull, constant, once or trace" },
    [WORKLOAD_KEY_CV] = { "cv", FORM_NUMBER, 0, 100,
                          "the gaps' deviation over their mean, above 0, up to 100" },
    [WORKLOAD_KEY_SHAPE] = { "shape", FORM_NUMBER, 0, 100, "a Weibull shape, above 0, up to 100" },
    [WORKLOAD_KEY_ON] = { "on", FORM_SECONDS, 0, 0, "the mean length of a burst, like 5s" },
    [WORKLOAD_KEY_OFF] = { "off", FORM_SECONDS, 0, 0, "the mean length of a pause, like 20s" },
    [WORKLOAD_KEY_OFF_RATE] = { "off-rate", FORM_NUMBER, -1, 0.999,
                                "a part of the rate, 0 to 0.999" },
    [WORKLOAD_KEY_PROFILE] = { "profile", FORM_TEXT, 0, 0, "azure-conv, azure-code or burstgpt" },
    [WORKLOAD_KEY_STEP] = { "step", FORM_SECONDS, 0, 0,
                            "how long a step of the profile takes, like 60s" },
    [WORKLOAD_KEY_N] = { "n", FORM_WHOLE, 1, 1e9, "requests, 1 to 1000000000" },
    [WORKLOAD_KEY_SERVICE] = { "service", FORM_TEXT, 0, 0, "a service's name" },
    [WORKLOAD_KEY_MODEL] = { "model", FORM_TEXT, 0, 0, "a model's name, like llama-2-7b" },
    [WORKLOAD_KEY_PRIORITY] = { "priority", FORM_WHOLE, INT16_MIN, INT16_MAX, "-32768 to 32767" },
    [WORKLOAD_KEY_TENANT] = { "tenant", FORM_WHOLE, 0, UINT16_MAX, "a number, 0 to 65535" },
    [WORKLOAD_KEY_FROM] = { "from", FORM_SECONDS, 0, 0, "a time in the trace, like 10m" },
    [WORKLOAD_KEY_TO] = { "to", FORM_SECONDS, 0, 0, "a time in the trace, like 20m" },
    [WORKLOAD_KEY_SPEED] = { "speed", FORM_NUMBER, 0, 1e6, "times as fast, above 0, up to 1e6" },
    [WORKLOAD_KEY_REPEAT] = { "repeat", FORM_WHOLE, 1, 1e9,
                              "how often it is played, 1 to 1000000000" },
    [WORKLOAD_KEY_SERVICES] = { "services", FORM_WHOLE, 1, LIMIT_SERVICES, "1 to 1024" },
    [WORKLOAD_KEY_ALPHA] = { "alpha", FORM_NUMBER, -1, 10, "a power law's exponent, 0 to 10" },
    [WORKLOAD_KEY_CLIENTS] = { "clients", FORM_TEXT, 0, 0, "m-large, m-mid or m-small" },
    [WORKLOAD_KEY_DATA] = { "data", FORM_TEXT, 0, 0, "a file of lengths" },
    [WORKLOAD_KEY_SEED] = { "seed", FORM_WHOLE, 0, 9e15, "a whole number" },
    [WORKLOAD_KEY_REQUESTS] = { "requests", FORM_WHOLE, 1, 1e9,
                                "requests in all, 1 to 1000000000" },
    [WORKLOAD_KEY_SECONDS] = { "seconds", FORM_SECONDS, 0, 0, "how long requests come, like 10m" },
    [WORKLOAD_KEY_RUN] = { "run", FORM_WHOLE, 1, 1e6, "requests in a row of one service" },
    [WORKLOAD_KEY_NOISE] = { "length-noise", FORM_NUMBER, -1, 1000,
                             "a part of the output, 0 to 1000" },
    [WORKLOAD_KEY_PREDICTION] = { "prediction-noise", FORM_NUMBER, -1, 10,
                                  "a deviation of the logarithm, 0 to 10" },
    [WORKLOAD_KEY_CANCEL] = { "cancel", FORM_NUMBER, -1, 1, "a part of the requests, 0 to 1" },
    [WORKLOAD_KEY_CANCEL_AFTER] = { "cancel-after", FORM_SECONDS, 0, 0, "a mean time, like 2s" },
    [WORKLOAD_KEY_DEADLINE] = { "deadline", FORM_SECONDS, 0, 0, "a time after arrival, like 10s" },
    [WORKLOAD_KEY_DEADLINES] = { "deadlines", FORM_NUMBER, -1, 1,
                                 "a part of the requests, 0 to 1" },
};

/* ---- What a part offers its kind. ---- */

bool workload_part_has(struct workload_part *part, enum workload_key key)
{
    part->is_used[key] = true;
    return part->texts[key] != NULL;
}

double workload_part_number(struct workload_part *part, enum workload_key key, double otherwise)
{
    return workload_part_has(part, key) ? part->numbers[key] : otherwise;
}

const char *workload_part_text(struct workload_part *part, enum workload_key key,
                               const char *otherwise)
{
    return workload_part_has(part, key) ? part->texts[key] : otherwise;
}

enum status workload_part_bad(struct workload_part *part, const char *fmt, ...)
{
    char text[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return fault_set(part->fault, STATUS_BAD_INPUT, "workload: %.60s: %s", part->kind, text);
}

void *workload_part_take(struct workload_part *part, size_t n_bytes)
{
    return pile_take(part->workload->owned, n_bytes);
}

const char *workload_part_format(struct workload_part *part, const char *fmt, ...)
{
    char text[LIMIT_NAME_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return pile_text(part->workload->owned, text, strlen(text));
}

int32_t workload_part_service(struct workload_part *part, const char *name, const char *model)
{
    struct workload *w = part->workload;
    int32_t i = 0;
    while (i < w->n_services && strcmp(w->services[i].name, name) != 0)
        i++;
    if (i == LIMIT_SERVICES) {
        workload_part_bad(part, "more than %d services", LIMIT_SERVICES);
        return -1;
    }
    if (i == w->n_services)
        w->services[w->n_services++] =
            (struct workload_traffic){ .name = workload_part_format(part, "%s", name) };
    if (model != NULL && w->services[i].model == NULL)
        w->services[i].model = workload_part_format(part, "%s", model);
    return i;
}

static bool is_source(const struct workload_traffic *t)
{
    return t->rate_per_s > 0 || t->times_ns != NULL || t->arrivals == WORKLOAD_ONCE;
}

void workload_part_add(struct workload_part *part, int32_t service,
                       const struct workload_traffic *traffic)
{
    struct workload *w = part->workload;
    struct workload_traffic *own = &w->services[service], *to = own;
    const char *name = own->name, *model = own->model;
    if (is_source(own)) {
        struct workload_traffic *more = workload_part_take(part, (w->n_more + 1) * sizeof(*more));
        if (w->n_more > 0)
            memcpy(more, w->more, w->n_more * sizeof(*more));
        w->more = more;
        to = &more[w->n_more++];
    }
    *to = *traffic;
    to->service = (uint16_t)service;
    to->name = name;
    to->model = model;
}

/* ---- Kinds. ---- */

/* Makes one service whose lengths have a name, or come from keys. */
static enum status make_drawn(struct workload_part *part)
{
    struct workload_traffic traffic = { 0 };
    bool has_name = workload_lengths_has(part->kind);
    const char *usual = has_name ? part->kind : NULL;
    enum status status =
        workload_lengths_set(part, &traffic, workload_part_text(part, WORKLOAD_KEY_LENGTHS, usual));
    if (status == STATUS_OK)
        status = workload_arrivals_set(part, &traffic, 0);
    if (status != STATUS_OK)
        return status;
    int32_t service =
        workload_part_service(part, workload_part_text(part, WORKLOAD_KEY_SERVICE, part->kind),
                              workload_part_text(part, WORKLOAD_KEY_MODEL, NULL));
    if (service < 0)
        return STATUS_BAD_INPUT;
    workload_part_add(part, service, &traffic);
    return STATUS_OK;
}

static const struct {
    const char *name;
    enum status (*make)(struct workload_part *part);
    bool has_path;
} kinds[] = {
    { "poisson", make_drawn, false }, { "gamma", make_drawn, false },
    { "weibull", make_drawn, false }, { "constant", make_drawn, false },
    { "once", make_drawn, false },    { "file", workload_replay_file, true },
    { "mooncake", NULL, true },       { "functions", workload_replay_functions, true },
};

static enum status make_part(struct workload_part *part)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(kinds[i].name, part->kind) != 0)
            continue;
        if (part->path != NULL && !kinds[i].has_path)
            return workload_part_bad(part, "\"%.60s\" is not key=value", part->path);
        if (kinds[i].make == NULL)
            return part->path != NULL ? workload_replay_file(part) : make_drawn(part);
        if (kinds[i].has_path && part->path == NULL)
            return workload_part_bad(part, "which file? %s:PATH", part->kind);
        return kinds[i].make(part);
    }
    if (part->path != NULL && strcmp(part->kind, "servegen") == 0)
        return workload_servegen(part);
    if (part->path != NULL)
        return workload_part_bad(part, "\"%.60s\" is not key=value", part->path);
    if (workload_lengths_has(part->kind))
        return make_drawn(part);
    const struct workload_mix *mix;
    for (uint32_t i = 0; (mix = workload_mixes_at(i)) != NULL; i++)
        if (strcmp(mix->name, part->kind) == 0)
            return mix->make(part);
    return workload_part_bad(part, "no such kind of workload");
}

static bool is_kind(struct view name)
{
    const struct workload_mix *mix;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (view_equal_text(name, kinds[i].name))
            return true;
    for (uint32_t i = 0; (mix = workload_mixes_at(i)) != NULL; i++)
        if (view_equal_text(name, mix->name))
            return true;
    char text[LIMIT_NAME_BYTES];
    snprintf(text, sizeof(text), "%.*s", (int)min_i64((int64_t)name.n, 100), name.at);
    return workload_lengths_has(text);
}

/* ---- Reading. ---- */

/* The workload's own keys. */
static void take_whole(struct workload_part *part)
{
    struct workload *w = part->workload;
    w->seed = (uint64_t)workload_part_number(part, WORKLOAD_KEY_SEED, (double)w->seed);
    if (workload_part_has(part, WORKLOAD_KEY_REQUESTS))
        w->n_requests = (uint64_t)part->numbers[WORKLOAD_KEY_REQUESTS];
    if (workload_part_has(part, WORKLOAD_KEY_SECONDS))
        w->until_ns = (int64_t)(part->numbers[WORKLOAD_KEY_SECONDS] * 1e9);
    w->run_length = (uint32_t)workload_part_number(part, WORKLOAD_KEY_RUN, w->run_length);
    w->output_noise = workload_part_number(part, WORKLOAD_KEY_NOISE, w->output_noise);
    w->prediction_noise = workload_part_number(part, WORKLOAD_KEY_PREDICTION, w->prediction_noise);
    w->cancelled = workload_part_number(part, WORKLOAD_KEY_CANCEL, w->cancelled);
    if (workload_part_has(part, WORKLOAD_KEY_CANCEL_AFTER))
        w->cancel_ns_mean = (int64_t)(part->numbers[WORKLOAD_KEY_CANCEL_AFTER] * 1e9);
    if (workload_part_has(part, WORKLOAD_KEY_DEADLINE)) {
        w->deadline_ns = (int64_t)(part->numbers[WORKLOAD_KEY_DEADLINE] * 1e9);
        w->with_deadline = w->with_deadline > 0 ? w->with_deadline : 1;
    }
    w->with_deadline = workload_part_number(part, WORKLOAD_KEY_DEADLINES, w->with_deadline);
}

static bool read_number(enum workload_key key, const char *text, double *out)
{
    int64_t whole;
    switch (keys[key].form) {
    case FORM_TEXT:
        return text[0] != '\0' && strlen(text) < LIMIT_CONTEXT;
    case FORM_SECONDS:
        if (!parse_duration_ns(text, &whole) || whole < 0 || whole > INT64_C(4000000000000000000))
            return false;
        *out = (double)whole / 1e9;
        return true;
    case FORM_WHOLE:
        if (!parse_i64(text, &whole))
            return false;
        *out = (double)whole;
        return *out >= keys[key].min && *out <= keys[key].max;
    case FORM_NUMBER:
        break;
    }
    bool has_zero = keys[key].min < 0;
    return parse_f64(text, out) && (has_zero ? *out >= 0 : *out > 0) && *out <= keys[key].max;
}

static enum status read_item(struct workload_part *part, char *item, bool is_first)
{
    char *equals = strchr(item, '=');
    if (equals == NULL && is_first && item[0] != '\0') {
        part->path = item;
        return STATUS_OK;
    }
    if (equals == NULL)
        return workload_part_bad(part, "\"%.60s\" is not key=value", item);
    *equals = '\0';
    for (int k = 0; k < WORKLOAD_KEY_N_KEYS; k++) {
        if (strcmp(keys[k].name, item) != 0)
            continue;
        if (part->texts[k] != NULL)
            return workload_part_bad(part, "%s is given twice", item);
        if (!read_number((enum workload_key)k, equals + 1, &part->numbers[k]))
            return workload_part_bad(part, "%s is \"%.40s\", expected %s", item, equals + 1,
                                     keys[k].expected);
        part->texts[k] = equals + 1;
        return STATUS_OK;
    }
    return workload_part_bad(part, "there is no key %.60s", item);
}

static enum status read_part(struct workload *w, char *text, struct fault *fault)
{
    struct workload_part part = { .workload = w,
                                  .fault = fault,
                                  .kind = text,
                                  .first_service = w->n_services,
                                  .first_more = w->n_more };
    enum status status = STATUS_OK;
    char *rest = strchr(text, ':');
    if (rest != NULL)
        *rest++ = '\0';
    for (bool is_first = true; rest != NULL && status == STATUS_OK; is_first = false) {
        char *comma = strchr(rest, ',');
        if (comma != NULL)
            *comma++ = '\0';
        status = read_item(&part, rest, is_first);
        rest = comma;
    }
    if (status == STATUS_OK)
        status = make_part(&part);
    if (status != STATUS_OK)
        return status;
    take_whole(&part);
    for (int k = 0; k < WORKLOAD_KEY_N_KEYS; k++)
        if (part.texts[k] != NULL && !part.is_used[k])
            return workload_part_bad(&part, "%s means nothing here", keys[k].name);
    return STATUS_OK;
}

/* Returns where the next part begins: behind a "+" that a kind follows, so that paths may contain
 * other "+". */
static char *next_part(char *text)
{
    for (char *plus = strchr(text, '+'); plus != NULL; plus = strchr(plus + 1, '+'))
        if (is_kind(view_of(plus + 1, strcspn(plus + 1, ":+"))))
            return plus;
    return NULL;
}

static enum status check_whole(const struct workload *w, struct fault *fault)
{
    if (w->run_length > 1 && w->n_replays > 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "workload: run does not go with a trace that is replayed");
    if (w->cancelled > 0 && w->cancel_ns_mean <= 0)
        return fault_set(fault, STATUS_BAD_INPUT, "workload: cancel needs cancel-after");
    if (w->with_deadline > 0 && w->deadline_ns <= 0)
        return fault_set(fault, STATUS_BAD_INPUT, "workload: deadlines needs deadline");
    return STATUS_OK;
}

void workload_init(struct workload *workload)
{
    *workload = (struct workload){ .seed = 1, .n_requests = UINT64_MAX };
}

enum status workload_parse(struct workload *workload, const char *text, struct fault *fault)
{
    enum status status = STATUS_OK;
    if (strlen(text) > TEXT_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "workload: a text of more than %d bytes",
                         TEXT_BYTES_MAX);
    if (workload->owned == NULL) {
        workload->owned = mem_take(sizeof(*workload->owned));
        pile_init(workload->owned);
    }
    char *copy = pile_text(workload->owned, text, strlen(text));
    while (copy != NULL && status == STATUS_OK) {
        char *next = next_part(copy);
        if (next != NULL)
            *next++ = '\0';
        status = read_part(workload, copy, fault);
        copy = next;
    }
    return status == STATUS_OK ? check_whole(workload, fault) : status;
}

void workload_free(struct workload *workload)
{
    if (workload->owned == NULL)
        return;
    for (uint32_t i = 0; i < workload->n_replays; i++)
        workload_trace_free((struct workload_trace *)(uintptr_t)workload->replays[i].trace);
    pile_free(workload->owned);
    mem_give(workload->owned);
    workload_init(workload);
}
