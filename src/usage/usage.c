/* The table of counts, and what of it is still to be written. */
#include "usage/usage.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "usage/file.h"
#include <stdio.h>
#include <string.h>

struct usage {
    struct usage_options options;
    struct usage_row *rows;       /* (n_rows) of n_max */
    struct usage_counts *unsaved; /* (n_rows) parts of rows that the writer lacks */
    int32_t n_rows, n_max;
    struct map by_name; /* a hash of tenant, key and day: rows */
    int32_t swept_day;
    struct usage_file *file; /* NULL: nothing is kept */
};

static void add(struct usage_counts *to, const struct usage_counts *more)
{
    to->n_requests += more->n_requests;
    to->n_in += more->n_in;
    to->n_out += more->n_out;
    to->n_cached += more->n_cached;
    to->device_ns += more->device_ns;
}

static bool is_zero(const struct usage_counts *counts)
{
    return counts->n_requests == 0 && counts->n_in == 0 && counts->n_out == 0 &&
           counts->n_cached == 0 && counts->device_ns == 0;
}

/* A collision of 64 bits of SHA-256 is not expected, so the hash stands for the name. */
static uint64_t name_of(const char *tenant, const char *key, int32_t day)
{
    char text[USAGE_NAME_BYTES + USAGE_KEY_BYTES + 16];
    int n = snprintf(text, sizeof text, "%d/%s/%s", day, key, tenant);
    return hash_secure(text, (size_t)n, "", 0).low;
}

static int32_t find(const struct usage *u, const char *tenant, const char *key, int32_t day)
{
    uint32_t at = map_find(&u->by_name, name_of(tenant, key, day));
    return at == MAP_NONE ? -1 : (int32_t)at;
}

/* Drops rows of days before `first`, which have nothing unsaved. */
static void forget(struct usage *u, int32_t first)
{
    int32_t n = 0;
    for (int32_t i = 0; i < u->n_rows; i++) {
        const struct usage_row *row = &u->rows[i];
        CHECK(map_remove(&u->by_name, name_of(row->tenant, row->key, row->day)));
        if (row->day < first && is_zero(&u->unsaved[i]))
            continue;
        u->rows[n] = u->rows[i];
        u->unsaved[n] = u->unsaved[i];
        n++;
    }
    u->n_rows = n;
    for (int32_t i = 0; i < n; i++)
        CHECK(map_put(&u->by_name, name_of(u->rows[i].tenant, u->rows[i].key, u->rows[i].day),
                      (uint32_t)i));
}

/* Forgets the oldest day, which the file still has. Returns false when there is no older one. */
static bool forget_oldest(struct usage *u, int32_t day)
{
    int32_t oldest = day, n_before = u->n_rows;
    for (int32_t i = 0; i < u->n_rows; i++)
        oldest = min_i32(oldest, u->rows[i].day);
    if (oldest < day)
        forget(u, oldest + 1);
    return u->n_rows < n_before;
}

static void grow(struct usage *u)
{
    int32_t n_max = min_i32(u->n_max * 2, USAGE_ROWS_MAX);
    struct usage_row *rows = mem_take(sizeof *rows * (size_t)n_max);
    struct usage_counts *unsaved = mem_take(sizeof *unsaved * (size_t)n_max);
    memcpy(rows, u->rows, sizeof *rows * (size_t)u->n_rows);
    memcpy(unsaved, u->unsaved, sizeof *unsaved * (size_t)u->n_rows);
    mem_give(u->rows);
    mem_give(u->unsaved);
    u->rows = rows;
    u->unsaved = unsaved;
    u->n_max = n_max;
}

static int32_t add_row(struct usage *u, const char *tenant, const char *key, int32_t day)
{
    if (u->n_rows == u->n_max)
        grow(u);
    struct usage_row *row = &u->rows[u->n_rows];
    *row = (struct usage_row){ .day = day };
    snprintf(row->tenant, sizeof row->tenant, "%s", tenant);
    snprintf(row->key, sizeof row->key, "%s", key);
    u->unsaved[u->n_rows] = (struct usage_counts){ 0 };
    CHECK(map_put(&u->by_name, name_of(tenant, key, day), (uint32_t)u->n_rows));
    return u->n_rows++;
}

/* Returns the row of this name. The last place is kept for a day's others. */
static int32_t find_or_add(struct usage *u, const char *tenant, const char *key, int32_t day)
{
    int32_t at = find(u, tenant, key, day);
    if (at >= 0)
        return at;
    if (u->n_rows < USAGE_ROWS_MAX - 1 || forget_oldest(u, day))
        return add_row(u, tenant, key, day);
    at = find(u, "(others)", "-", day);
    if (at < 0 && u->n_rows == USAGE_ROWS_MAX) /* older days that can't be written keep the room */
        return u->n_rows - 1;
    return at >= 0 ? at : add_row(u, "(others)", "-", day);
}

void usage_add(struct usage *u, const char *tenant, const char *key, int32_t day,
               const struct usage_counts *more)
{
    int32_t at = find_or_add(u, tenant, key, day);
    add(&u->rows[at].counts, more);
    add(&u->unsaved[at], more);
}

struct usage_counts usage_find(const struct usage *u, const char *tenant, const char *key,
                               int32_t day)
{
    int32_t at = find(u, tenant, key, day);
    return at >= 0 ? u->rows[at].counts : (struct usage_counts){ 0 };
}

const struct usage_row *usage_row_at(const struct usage *u, int32_t i)
{
    return i < u->n_rows ? &u->rows[i] : NULL;
}

/* Hands over what is new, as far as the writer has room. */
static void save(struct usage *u)
{
    for (int32_t i = 0; i < u->n_rows; i++) {
        struct usage_row row = u->rows[i];
        row.counts = u->unsaved[i];
        if (is_zero(&u->unsaved[i]))
            continue;
        if (u->file != NULL && !usage_file_put(u->file, &row))
            break;
        u->unsaved[i] = (struct usage_counts){ 0 };
    }
    if (u->file != NULL)
        usage_file_wake(u->file);
}

void usage_sweep(struct usage *u, int32_t today)
{
    save(u);
    if (today == u->swept_day)
        return;
    u->swept_day = today;
    forget(u, today - u->options.n_days_max + 1);
}

/* Takes a row of the file. */
static void take_row(void *self, const struct usage_row *row)
{
    struct usage *u = self;
    int32_t at = find_or_add(u, row->tenant, row->key, row->day);
    add(&u->rows[at].counts, &row->counts);
}

enum status usage_open(struct usage **out, const struct usage_options *options, struct fault *fault)
{
    struct usage *u = mem_take(sizeof *u);
    u->options = *options;
    u->n_max = 16;
    u->rows = mem_take(sizeof *u->rows * (size_t)u->n_max);
    u->unsaved = mem_take(sizeof *u->unsaved * (size_t)u->n_max);
    map_init(&u->by_name, USAGE_ROWS_MAX);
    *out = u;
    if (options->path == NULL)
        return STATUS_OK;
    const struct usage_file_options file = { options->path, options->n_days_max, take_row, u };
    enum status status = usage_file_open(&u->file, &file, fault);
    if (status == STATUS_OK)
        return STATUS_OK;
    usage_close(u);
    *out = NULL;
    return status;
}

void usage_close(struct usage *u)
{
    if (u == NULL)
        return;
    save(u);
    usage_file_close(u->file);
    map_free(&u->by_name);
    mem_give(u->rows);
    mem_give(u->unsaved);
    mem_give(u);
}
