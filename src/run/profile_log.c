/* Makes samples from an engine's log: every batch falls into a class, and each class is a
 * sample. */
#include "run/profile_log.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/replay.h"
#include <stdlib.h>
#include <string.h>

enum { BATCHES_MAX = 1 << 21, BATCHES_LEAST = 3, HELD_OUT_OF = 5 };

struct entry {
    uint64_t class;
    struct perf_sample sample;
};
struct gathered {
    const char *service;
    int64_t n, capacity;
    struct entry *entries;
    bool is_known; /* the log has the service */
};

/* Returns the place of a value among steps of a fourth root of 2. */
static uint64_t step_of(int64_t value)
{
    uint64_t step = 0;
    int64_t at = 16; /* in sixteenths */
    while (at < value * 16 && step < 200) {
        at = at * 19 / 16 > at ? at * 19 / 16 : at + 1;
        step++;
    }
    return step;
}

/* Decodes are classed by their number and mean context, prompts by tokens and pairs. */
static uint64_t class_of(const struct perf_load *l)
{
    if (l->n_new == 0)
        return (uint64_t)l->n_decodes << 16 | step_of(l->n_decode_context / l->n_decodes);
    int64_t pairs = (l->n_new_squared + 2 * l->n_new_context) / l->n_new;
    return UINT64_C(1) << 40 | step_of(l->n_new) << 16 | step_of(pairs);
}

static void gather(void *self, const struct engine_replay_batch *b)
{
    struct gathered *g = self;
    if (strcmp(b->service_name, g->service) != 0)
        return;
    g->is_known = true;
    bool is_pure = (b->load.n_new > 0) != (b->load.n_decodes > 0);
    if (b->is_copy || b->is_padded || b->lane != 0 || b->n_steps != 1 || !is_pure ||
        b->end_ns <= b->begin_ns || g->n == BATCHES_MAX)
        return;
    if (g->n == g->capacity) {
        int64_t capacity = g->capacity > 0 ? 2 * g->capacity : 1024;
        g->entries = mem_grow(g->entries, (size_t)g->capacity * sizeof(*g->entries),
                              (size_t)capacity * sizeof(*g->entries));
        g->capacity = capacity;
    }
    g->entries[g->n++] =
        (struct entry){ class_of(&b->load), { b->load, (b->end_ns - b->begin_ns) * 1000 } };
}

static int order(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    return (x->sample.ps > y->sample.ps) - (x->sample.ps < y->sample.ps);
}

static int order_of_size(const void *a, const void *b)
{
    const struct perf_sample *x = *(const struct perf_sample *const *)a;
    const struct perf_sample *y = *(const struct perf_sample *const *)b;
    return (x->ps > y->ps) - (x->ps < y->ps);
}

/* The classes' middle batches, at most as many as a profile holds, from the classes with the most
 * batches. */
struct class
{
    const struct perf_sample *middle;
    int64_t n;
};
static int order_of_classes(const void *a, const void *b)
{
    const struct class *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return (x->middle > y->middle) - (x->middle < y->middle);
}

static void take_classes(struct gathered *g, struct predict_profile_group *group,
                         int64_t *n_batches)
{
    struct class *classes = mem_take((size_t)(g->n + 1) * sizeof(*classes));
    const struct perf_sample *taken[PREDICT_PROFILE_SAMPLES];
    struct perf_sample held[PREDICT_PROFILE_SAMPLES];
    int64_t n = 0;
    int n_taken = 0;
    qsort(g->entries, (size_t)g->n, sizeof(*g->entries), order);
    for (int64_t i = 0, end; i < g->n; i = end) {
        for (end = i + 1; end < g->n && g->entries[end].class == g->entries[i].class;)
            end++;
        if (end - i >= BATCHES_LEAST)
            classes[n++] = (struct class){ &g->entries[(i + end) / 2].sample, end - i };
    }
    qsort(classes, (size_t)n, sizeof(*classes), order_of_classes);
    *n_batches = 0;
    for (; n_taken < n && n_taken < PREDICT_PROFILE_SAMPLES; n_taken++) {
        taken[n_taken] = classes[n_taken].middle;
        *n_batches += classes[n_taken].n;
    }
    qsort(taken, (size_t)n_taken, sizeof(taken[0]), order_of_size);
    group->n_samples = group->n_held = 0;
    for (int i = 0; i < n_taken; i++) {
        if (i % HELD_OUT_OF == HELD_OUT_OF - 2)
            held[group->n_held++] = *taken[i];
        else
            group->samples[group->n_samples++] = *taken[i];
    }
    memcpy(group->samples + group->n_samples, held, sizeof(held[0]) * (size_t)group->n_held);
    group->n_samples += group->n_held;
    mem_give(classes);
}

enum status profile_log_read(const char *path, const char *service,
                             struct predict_profile_group *group, int64_t *n_batches,
                             struct fault *fault)
{
    struct gathered g = { .service = service };
    struct file_map map;
    struct engine_replay result;
    const struct engine_replay_options options = { .saw = gather, .saw_self = &g };
    enum status status = file_map_open(&map, path, fault);
    if (status != STATUS_OK)
        return status;
    status = engine_replay_run(map.at, map.n_bytes, &options, &result, fault);
    file_map_close(&map);
    if (status == STATUS_OK && !g.is_known)
        status = fault_set(fault, STATUS_NOT_FOUND, "%.120s: no batch of a service \"%.60s\"", path,
                           service);
    if (status == STATUS_OK) {
        take_classes(&g, group, n_batches);
        status = predict_profile_fit(group, fault);
    }
    mem_give(g.entries);
    return status;
}
