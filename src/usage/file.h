/* The SQLite file of usage, and the thread that writes it. */
#pragma once
#include "base/status.h"
#include "usage/row.h"

struct usage_file;
struct usage_file_options {
    const char *path;
    int32_t n_days_max;
    void (*take)(void *self, const struct usage_row *row); /* gets what the file has, at open */
    void *take_self;
};
enum status usage_file_open(struct usage_file **out, const struct usage_file_options *options,
                            struct fault *fault) MUST_USE;
void usage_file_close(struct usage_file *file); /* writes all that was put; NULL is fine */
/* Puts counts that are to be added. Returns false when there is no room until some are written. */
bool usage_file_put(struct usage_file *file, const struct usage_row *row);
void usage_file_wake(struct usage_file *file);
