/* Replays a fuzz target's corpus as an ordinary test: the empty input, then each file of the
 * folder.
 *
 * usage: <target>_replay NAME FOLDER. A crash ends the process, which the summary counts as a
 * failure. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int replay_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return -1;
    long n = ftell(file);
    rewind(file);
    uint8_t *bytes =
        malloc(n > 0 ? (size_t)n : 1); /* exactly n, so that a sanitizer sees the end */
    if (n < 0 || bytes == NULL || fread(bytes, 1, (size_t)n, file) != (size_t)n)
        return -1;
    fclose(file);
    (void)LLVMFuzzerTestOneInput(bytes, (size_t)n);
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct dirent **entries = NULL;
    int n_entries = scandir(argv[2], &entries, NULL, compare_names), n_replayed = 1;
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 0; i < n_entries; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.') {
            printf("%s\n", name);
            fflush(stdout);
            if (replay_file(argv[2], name) != 0) {
                printf("[  FAILED  ] %s: can't read %s\n", argv[1], name);
                return 1;
            }
            n_replayed++;
        }
        free(entries[i]);
    }
    free(entries);
    printf("%d inputs\n[       OK ] %s\n", n_replayed, argv[1]);
    return 0;
}
