/* Usage by tenant, key and day: requests, tokens and time of the device.
 *
 * The counts live in a table that one thread owns. Once a second it hands what is new to a thread
 * that adds it to an SQLite file in one transaction. So the owner never waits for a disk, a process
 * that is killed loses the last two seconds, and several processes may share a file. Counts that
 * can't be written stay in memory, added up, until they can. */
#pragma once
#include "base/status.h"
#include "usage/row.h"

struct usage;
struct usage_options {
    const char *path;   /* NULL: nothing outlives the process */
    int32_t n_days_max; /* older days are forgotten */
};
/* Opens or makes the file, and reads what it has. */
enum status usage_open(struct usage **out, const struct usage_options *options,
                       struct fault *fault) MUST_USE;
void usage_close(struct usage *usage); /* writes what is new; NULL is fine */
/* Adds to a day's counts, which are usually today's. */
void usage_add(struct usage *usage, const char *tenant, const char *key, int32_t day,
               const struct usage_counts *more);
/* Returns the counts of a day; zeros: there are none. */
struct usage_counts usage_find(const struct usage *usage, const char *tenant, const char *key,
                               int32_t day);
/* Hands what is new to the writing thread, and forgets days that are too old. Call it once a second
 * or so. */
void usage_sweep(struct usage *usage, int32_t today);
/* Returns row i, in no order; NULL: there are no more. */
const struct usage_row *usage_row_at(const struct usage *usage, int32_t i);
