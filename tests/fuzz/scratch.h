/* A directory of the fuzz target's own, for input that can only be read from files. It is removed
 * at exit. */
#pragma once
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const *scratch_names; /* ends at NULL: all files that may be there */

static inline const char *scratch_path(const char *name)
{
    static char directory[64], path[512];
    if (directory[0] == '\0') {
        snprintf(directory, sizeof(directory), "/dev/shm/shoal_fuzz.XXXXXX");
        CHECK(mkdtemp(directory) != NULL);
    }
    if (name == NULL)
        return directory;
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static inline void scratch_empty(void)
{
    for (const char *const *name = scratch_names; *name != NULL; name++)
        unlink(scratch_path(*name));
}

static inline void scratch_remove(void)
{
    scratch_empty();
    rmdir(scratch_path(NULL));
}

/* Makes an empty directory for files with these names only. */
static inline void scratch_begin(const char *const *names)
{
    static bool is_registered;
    scratch_names = names;
    if (!is_registered)
        is_registered = atexit(scratch_remove) == 0;
    scratch_empty();
}

static inline void scratch_write(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(scratch_path(name), "wb");
    CHECK(file != NULL && fwrite(bytes, 1, n, file) == n);
    fclose(file);
}

/* Cuts off a piece; its length is in the two bytes before it. */
static inline const uint8_t *scratch_cut(const uint8_t **bytes, size_t *n, size_t *n_piece)
{
    *n_piece = *n >= 2 ? (size_t)((*bytes)[0] | (*bytes)[1] << 8) : 0;
    if (*n >= 2) {
        *bytes += 2;
        *n -= 2;
    }
    if (*n_piece > *n)
        *n_piece = *n;
    const uint8_t *piece = *bytes;
    *bytes += *n_piece;
    *n -= *n_piece;
    return piece;
}
