/* Keeps, names, orders and hashes records. record_file.c writes and reads them. */
#include "metrics/record.h"

#include "base/hash.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

void metrics_record_set_free(struct record_set *set)
{
    mem_give(set->at);
    mem_give(set->names);
    *set = (struct record_set){ 0 };
}

void metrics_record_add(struct record_set *set, const struct record *record)
{
    if (set->n == set->capacity) {
        size_t capacity = set->capacity == 0 ? 256 : 2 * set->capacity;
        set->at = mem_grow(set->at, set->n * sizeof(*set->at), capacity * sizeof(*set->at));
        set->capacity = capacity;
    }
    set->at[set->n++] = *record;
}

int32_t metrics_record_service(struct record_set *set, struct view name)
{
    size_t n = name.n < LIMIT_NAME_BYTES ? name.n : LIMIT_NAME_BYTES - 1;
    for (int32_t i = 0; i < set->n_services; i++)
        if (view_equal_text(view_of(name.at, n), set->names[i]))
            return i;
    if (set->n_services == RECORD_SERVICES_MAX)
        return -1;
    size_t old = (size_t)set->n_services * sizeof(*set->names);
    set->names = mem_grow(set->names, old, old + sizeof(*set->names));
    memcpy(set->names[set->n_services], name.at, n);
    return set->n_services++;
}

static int compare(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

void metrics_record_sort(struct record_set *set)
{
    if (set->n > 1)
        qsort(set->at, set->n, sizeof(*set->at), compare);
}

int64_t metrics_record_begin_ns(const struct record_set *set)
{
    int64_t begin_ns = set->n > 0 ? set->at[0].arrived_ns : 0;
    for (size_t i = 1; i < set->n; i++)
        begin_ns = min_i64(begin_ns, set->at[i].arrived_ns);
    return begin_ns;
}

static const char *const names[RECORD_WHY_N] = {
    [RECORD_UNFINISHED] = "unfinished", [RECORD_STOPPED] = "stop",      [RECORD_LENGTH] = "length",
    [RECORD_CANCELLED] = "cancelled",   [RECORD_DEADLINE] = "deadline", [RECORD_FAILED] = "failed",
    [RECORD_TOO_LARGE] = "too-large",   [RECORD_REFUSED] = "refused",   [RECORD_CUT] = "cut",
    [RECORD_WRONG] = "wrong",
};

const char *metrics_record_why_name(enum record_why why)
{
    return (unsigned)why < RECORD_WHY_N ? names[why] : "unknown";
}

enum record_why metrics_record_why_of(enum service_why why)
{
    switch (why) {
    case SERVICE_STOPPED:
        return RECORD_STOPPED;
    case SERVICE_LENGTH:
        return RECORD_LENGTH;
    case SERVICE_CANCELLED:
        return RECORD_CANCELLED;
    case SERVICE_DEADLINE:
        return RECORD_DEADLINE;
    case SERVICE_FAILED:
        return RECORD_FAILED;
    case SERVICE_TOO_LARGE:
        return RECORD_TOO_LARGE;
    case SERVICE_NOT_READY:
    case SERVICE_LOAD_FAILED:
    case SERVICE_FULL:
    case SERVICE_NO_SPACE:
    case SERVICE_DRAINING:
        return RECORD_REFUSED;
    default:
        return RECORD_UNFINISHED;
    }
}

uint64_t metrics_record_hash(const struct record_set *set)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < set->n; i++) {
        const struct record *r = &set->at[i];
        int64_t facts[] = { (int64_t)r->id, r->arrived_ns,   r->first_ns,  r->end_ns,
                            r->solo_ns,     r->n_prompt,     r->n_output,  r->n_cached,
                            r->n_slices,    r->n_pad,        r->n_invalid, r->n_preempted,
                            r->service,     r->engine,       r->why,       r->n_predicted,
                            r->n_batches,   r->n_batch_rows, r->n_swapped, r->n_early };
        hash = hash_fast(facts, sizeof(facts), hash).low;
    }
    return hash;
}
