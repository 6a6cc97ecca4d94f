/* Checks paths from outside against the directories that the configuration allows. */
#include "serve/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ENTRIES_MAX = 4096, PARTS_MAX = 1000, PATH_BYTES = PATH_MAX };

static bool is_below(const char *real, const char *directory)
{
    size_t n = strlen(directory);
    if (n == 1)
        return true; /* the root */
    return strncmp(real, directory, n) == 0 && (real[n] == '/' || real[n] == '\0');
}

/* Returns its real path if that lies in an allowed directory. */
static enum status resolve(const struct config *config, const char *path, char real[PATH_BYTES],
                           struct fault *fault)
{
    if (realpath(path, real) == NULL)
        return fault_set(fault, errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : STATUS_IO,
                         "path: %.150s: %s", path, strerror(errno));
    for (int i = 0; i < config->n_model_dirs; i++) {
        char directory[PATH_BYTES];
        if (realpath(config->model_dirs[i], directory) != NULL && is_below(real, directory))
            return STATUS_OK;
    }
    return fault_set(fault, STATUS_UNSUPPORTED,
                     "path: %.150s does not lie in one of this server's model_dirs, symbolic links "
                     "resolved",
                     path);
}

static enum status check(const struct config *config, const char *path, struct fault *fault)
{
    char real[PATH_BYTES];
    return resolve(config, path, real, fault);
}

/* Checks every file of the directory. An entry that is neither file nor link does not belong to a
 * model. */
static enum status check_directory(const struct config *config, const char *real,
                                   struct fault *fault)
{
    DIR *directory = opendir(real);
    enum status status = STATUS_OK;
    int n = 0;
    if (directory == NULL)
        return fault_set(fault, STATUS_IO, "path: %.150s: %s", real, strerror(errno));
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(directory)) != NULL;) {
        char path[PATH_BYTES];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int n_bytes = snprintf(path, sizeof path, "%s/%s", real, entry->d_name);
        if (++n > ENTRIES_MAX || n_bytes >= (int)sizeof path)
            status = fault_set(fault, STATUS_TOO_LARGE,
                               "path: %.150s holds more than %d files, or too long names", real,
                               ENTRIES_MAX);
        else
            status = check(config, path, fault);
    }
    (void)closedir(directory);
    return status;
}

/* Checks the other parts of "x-00001-of-00003.gguf", as far as they exist. */
static enum status check_parts(const struct config *config, const char *real, struct fault *fault)
{
    static const char like[] = "-00001-of-00001.gguf";
    size_t n = strlen(real), n_like = sizeof like - 1;
    int n_parts = 0, part = 0;
    if (n <= n_like || sscanf(real + n - n_like, "-%5d-of-%5d.gguf", &part, &n_parts) != 2)
        return STATUS_OK;
    enum status status = STATUS_OK;
    if (n_parts > PARTS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "path: %.150s has more than %d parts", real,
                         PARTS_MAX);
    for (int i = 1; i <= n_parts && status == STATUS_OK; i++) {
        char path[PATH_BYTES];
        struct stat info;
        int n_bytes = snprintf(path, sizeof path, "%.*s-%05d-of-%05d.gguf", (int)(n - n_like), real,
                               i, n_parts);
        if (n_bytes < (int)sizeof path && lstat(path, &info) == 0)
            status = check(config, path, fault);
    }
    return status;
}

enum status serve_path_resolve(const struct config *config, const char *path, struct pile *pile,
                               const char **out, struct fault *fault)
{
    struct stat info;
    if (config->n_model_dirs == 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "path needs model_dirs, the directories that models may be loaded from: "
                         "this server's configuration names none");
    char real[PATH_BYTES];
    enum status status = resolve(config, path, real, fault);
    if (status != STATUS_OK)
        return status;
    if (stat(real, &info) != 0)
        status = fault_set(fault, STATUS_IO, "path: %.150s: %s", path, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        status = check_directory(config, real, fault);
    else if (S_ISREG(info.st_mode))
        status = check_parts(config, real, fault);
    else
        status = fault_set(fault, STATUS_BAD_INPUT,
                           "path: %.150s is neither a regular file nor a directory", path);
    if (status == STATUS_OK)
        *out = pile_text(pile, real, strlen(real));
    return status;
}
