/* Computes edit distances of short names, with swaps of adjacent letters (optimal string
 * alignment). */
#include "base/near.h"
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Rows of the table are prefixes of a, columns those of b; three rows are enough. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    for (size_t j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *twice_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], twice_above[j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

void near_try(struct near *near, const char *name)
{
    size_t n = strlen(near->written), n_name = strlen(name);
    if (n > NAME_MAX_BYTES || n_name > NAME_MAX_BYTES)
        return;
    size_t n_edits = distance(near->written, n, name, n_name);
    if (n_edits == 0 || 3 * n_edits > n || (near->best != NULL && n_edits >= near->n_edits))
        return;
    near->best = name;
    near->n_edits = n_edits;
}

const char *near_question(const struct near *near, char out[NEAR_BYTES])
{
    out[0] = '\0';
    if (near->best != NULL)
        snprintf(out, NEAR_BYTES, ", did you mean %s?", near->best);
    return out;
}
