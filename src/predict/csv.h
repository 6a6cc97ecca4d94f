/* Reads comma-separated tables with a line of names, which is the format of published profiles.
 *
 * There are no quotes and at most CSV_COLUMNS_MAX columns. Lines that begin with # are skipped.
 * Nothing is copied: the text outlives the reader. */
#pragma once
#include "base/status.h"
#include "base/str.h"

enum { CSV_COLUMNS_MAX = 64 };

struct csv {
    const char *at;
    int n_columns, line;
    struct view names[CSV_COLUMNS_MAX], cells[CSV_COLUMNS_MAX];
};
enum status csv_open(struct csv *csv, const char *text, struct fault *fault) MUST_USE;
/* Returns the column of this name, or -1 with a fault. */
int csv_column(const struct csv *csv, const char *name, struct fault *fault);
bool csv_next(struct csv *csv);                    /* reads a row; short ones end in empty cells */
double csv_f64(const struct csv *csv, int column); /* 0 when it is not a number */
bool csv_is(const struct csv *csv, int column, const char *text);
