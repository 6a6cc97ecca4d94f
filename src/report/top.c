/* Reads samples of a running server, and finds what has changed between two. */
#include "report/top.h"

#include "base/mem.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Values. ---- */

/* Returns a number that can be printed and added; anything else is 0. */
static double sane(double value)
{
    return isfinite(value) && value >= 0 && value < 1e18 ? value : 0;
}

static double number_at(const json_t *object, const char *key)
{
    return sane(json_number_value(json_object_get(object, key)));
}

static void copy_text(const json_t *value, char *out, size_t n_bytes)
{
    const char *text = json_string_value(value);
    snprintf(out, n_bytes, "%s", text != NULL ? text : "");
    utf8_tame(out); /* also a character that was cut */
}

/* ---- GET /models. ---- */

static void read_model(const json_t *row, struct top_model *model)
{
    size_t i;
    json_t *part;
    *model = (struct top_model){ 0 };
    copy_text(json_object_get(row, "id"), model->name, sizeof model->name);
    copy_text(json_object_get(json_object_get(row, "status"), "value"), model->status,
              sizeof model->status);
    model->is_paused = json_is_true(json_object_get(row, "paused"));
    model->is_pinned = json_is_string(json_object_get(row, "pinned"));
    model->n_running = number_at(row, "requests_running");
    model->n_waiting = number_at(row, "requests_waiting");
    model->kv_bytes = number_at(json_object_get(row, "memory"), "kv_used_bytes");
    model->counts.n_requests = number_at(row, "requests_total");
    model->counts.n_tokens = number_at(row, "tokens_total");
    json_array_foreach(json_object_get(row, "engines"), i, part) {
        const char *status =
            json_string_value(json_object_get(json_object_get(part, "status"), "value"));
        model->n_copies += status != NULL && strcmp(status, "loaded") == 0;
    }
}

/* Returns false for a place of a gateway that no engine has. */
static bool read_engine(const json_t *row, struct top_engine *engine)
{
    *engine = (struct top_engine){ 0 };
    copy_text(json_object_get(row, "device"), engine->device, sizeof engine->device);
    const char *at = strstr(engine->device, " engine "); /* as a gateway names those of its nodes */
    const char *state = json_string_value(json_object_get(row, "state"));
    engine->n_node = at != NULL ? (int)(at - engine->device) : 0;
    engine->is_healthy = json_is_true(json_object_get(row, "healthy"));
    engine->is_down = state != NULL && strcmp(state, "restarting") == 0;
    engine->n_requests = number_at(row, "requests");
    engine->n_restarts = number_at(row, "restarts");
    engine->n_steps = number_at(row, "steps");
    engine->kv_pool_bytes = number_at(row, "kv_pool_bytes");
    engine->kv_free_bytes = fmin(number_at(row, "kv_free_bytes"), engine->kv_pool_bytes);
    return at != engine->device && number_at(row, "memory_bytes") > 0;
}

static size_t bounded(const json_t *array, size_t n_most)
{
    size_t n = json_array_size(array);
    return n < n_most ? n : n_most;
}

static void read_states(const json_t *root, struct top_sample *sample)
{
    const json_t *models = json_object_get(root, "data"),
                 *engines = json_object_get(root, "engines");
    size_t n_models = bounded(models, LIMIT_SERVICES), n_engines = bounded(engines, LIMIT_ENGINES);
    sample->models = mem_take(sizeof *sample->models * (n_models + 1));
    sample->engines = mem_take(sizeof *sample->engines * (n_engines + 1));
    sample->n_models = (int)n_models;
    for (size_t i = 0; i < n_models; i++)
        read_model(json_array_get(models, i), &sample->models[i]);
    for (size_t i = 0; i < n_engines; i++)
        sample->n_engines +=
            read_engine(json_array_get(engines, i), &sample->engines[sample->n_engines]);
}

/* ---- GET /metrics. ---- */

/* The series that count, each with its field of struct top_counts. */
static const struct series {
    const char *name, *label; /* label: one that the line has to have, or NULL */
    size_t offset;
} series[] = {
    { "vllm:time_to_first_token_seconds_sum{", NULL, offsetof(struct top_counts, ttft_s) },
    { "vllm:time_to_first_token_seconds_count{", NULL, offsetof(struct top_counts, n_ttft) },
    { "vllm:inter_token_latency_seconds_sum{", NULL, offsetof(struct top_counts, gap_s) },
    { "vllm:inter_token_latency_seconds_count{", NULL, offsetof(struct top_counts, n_gaps) },
    { "vllm:request_success_total{", "finished_reason=\"refused\"",
      offsetof(struct top_counts, n_refused) },
    { "vllm:request_success_total{", "finished_reason=\"error\"",
      offsetof(struct top_counts, n_failed) },
};

/* Looks at index `near` first, since the order seldom changes. */
static struct top_model *find_model(const struct top_sample *sample, const char *name, int near)
{
    if (near < sample->n_models && strcmp(sample->models[near].name, name) == 0)
        return &sample->models[near];
    for (int i = 0; i < sample->n_models; i++)
        if (strcmp(sample->models[i].name, name) == 0)
            return &sample->models[i];
    return NULL;
}

static struct top_engine *find_engine(const struct top_sample *sample, const char *device, int near)
{
    if (near < sample->n_engines && strcmp(sample->engines[near].device, device) == 0)
        return &sample->engines[near];
    for (int i = 0; i < sample->n_engines; i++)
        if (strcmp(sample->engines[i].device, device) == 0)
            return &sample->engines[i];
    return NULL;
}

/* Takes a line "NAME{model_name="MODEL",...} VALUE" of a series. */
static void take_line(struct top_sample *sample, const struct series *s, const char *line)
{
    static const char key[] = "model_name=\"";
    char name[LIMIT_NAME_BYTES];
    const char *at = strstr(line, key), *value = strrchr(line, ' ');
    const char *end = at != NULL ? strchr(at + strlen(key), '"') : NULL;
    if (end == NULL || value == NULL || (s->label != NULL && strstr(line, s->label) == NULL))
        return;
    at += strlen(key);
    if ((size_t)(end - at) >= sizeof name)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
    struct top_model *model = find_model(sample, name, 0);
    if (model != NULL)
        *(double *)(void *)((char *)&model->counts + s->offset) = sane(strtod(value + 1, NULL));
}

static void read_metrics(struct view text, struct top_sample *sample)
{
    char line[512];
    for (size_t at = 0; at < text.n;) {
        const char *begin = text.at + at, *end = memchr(begin, '\n', text.n - at);
        size_t n = end != NULL ? (size_t)(end - begin) : text.n - at;
        at += n + 1;
        if (n < 5 || n >= sizeof line || memcmp(begin, "vllm:", 5) != 0)
            continue;
        memcpy(line, begin, n);
        line[n] = '\0';
        for (size_t i = 0; i < COUNT_OF(series); i++)
            if (strncmp(line, series[i].name, strlen(series[i].name)) == 0)
                take_line(sample, &series[i], line);
    }
}

/* ---- Events. ---- */

static void add_event(struct top *top, int64_t unix_s, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void add_event(struct top *top, int64_t unix_s, const char *fmt, ...)
{
    struct top_event *event = &top->events[top->n_events++ % TOP_EVENTS_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(event->text, sizeof event->text, fmt, args);
    va_end(args);
    utf8_tame(event->text);
    event->unix_s = unix_s;
}

static void compare_model(struct top *top, int i, int64_t unix_s)
{
    const struct top_model *now = &top->last.models[i], *then = report_top_model_before(top, i);
    if (then == NULL) {
        add_event(top, unix_s, "model %s: new, %s", now->name, now->status);
        return;
    }
    if (strcmp(then->status, now->status) != 0)
        add_event(top, unix_s, "model %s: %s", now->name, now->status);
    else if (then->n_copies != now->n_copies)
        add_event(top, unix_s, "model %s: on %d engines", now->name, now->n_copies);
    if (then->is_paused != now->is_paused)
        add_event(top, unix_s, "model %s: %s", now->name, now->is_paused ? "paused" : "unpaused");
    double n_refused = now->counts.n_refused - then->counts.n_refused;
    double n_failed = now->counts.n_failed - then->counts.n_failed;
    if (n_refused > 0)
        add_event(top, unix_s, "model %s: %.0f requests were refused", now->name, n_refused);
    if (n_failed > 0)
        add_event(top, unix_s, "model %s: %.0f requests failed", now->name, n_failed);
}

static void compare_engine(struct top *top, int i, int64_t unix_s)
{
    const struct top_engine *now = &top->last.engines[i], *then = report_top_engine_before(top, i);
    if (then == NULL)
        add_event(top, unix_s, "%s: new", now->device);
    else if (then->is_down != now->is_down)
        add_event(top, unix_s, "%s: %s", now->device, now->is_down ? "restarts" : "runs again");
    else if (then->is_healthy != now->is_healthy)
        add_event(top, unix_s, "%s: %s", now->device, now->is_healthy ? "well again" : "not well");
    else if (now->n_restarts > then->n_restarts)
        add_event(top, unix_s, "%s: was restarted", now->device);
}

static void compare(struct top *top, int64_t unix_s)
{
    for (int i = 0; i < top->last.n_models; i++)
        compare_model(top, i, unix_s);
    for (int i = 0; i < top->last.n_engines; i++)
        compare_engine(top, i, unix_s);
    for (int i = 0; i < top->before.n_models; i++)
        if (find_model(&top->last, top->before.models[i].name, i) == NULL)
            add_event(top, unix_s, "model %s: gone", top->before.models[i].name);
    for (int i = 0; i < top->before.n_engines; i++)
        if (find_engine(&top->last, top->before.engines[i].device, i) == NULL)
            add_event(top, unix_s, "%s: gone", top->before.engines[i].device);
}

/* ---- The whole. ---- */

void report_top_open(struct top *top, const char *server)
{
    *top = (struct top){ 0 };
    snprintf(top->server, sizeof top->server, "%s", server);
    utf8_tame(top->server);
}

static void free_sample(struct top_sample *sample)
{
    mem_give(sample->models);
    mem_give(sample->engines);
    *sample = (struct top_sample){ 0 };
}

void report_top_close(struct top *top)
{
    free_sample(&top->last);
    free_sample(&top->before);
}

void report_top_take(struct top *top, const json_t *states, struct view metrics, int64_t now_ns,
                     int64_t unix_s)
{
    free_sample(&top->before);
    top->before = top->last;
    top->last = (struct top_sample){ .now_ns = now_ns };
    read_states(states, &top->last);
    read_metrics(metrics, &top->last);
    if (top->is_lost)
        add_event(top, unix_s, "the server answers again");
    top->is_lost = false;
    if (top->before.now_ns > 0)
        compare(top, unix_s);
}

void report_top_lose(struct top *top, const char *why, int64_t unix_s)
{
    snprintf(top->why, sizeof top->why, "%s", why);
    utf8_tame(top->why);
    if (!top->is_lost)
        add_event(top, unix_s, "%s", top->why);
    top->is_lost = true;
}

const struct top_model *report_top_model_before(const struct top *top, int i)
{
    return find_model(&top->before, top->last.models[i].name, i);
}

const struct top_engine *report_top_engine_before(const struct top *top, int i)
{
    return find_engine(&top->before, top->last.engines[i].device, i);
}
