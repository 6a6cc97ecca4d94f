/* Reads the limits of memory. A container's machine looks as large as its host, but the kernel
 * kills a process that takes more than the group may have. */
#include "base/memory_limit.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, FILE_BYTES = 65536 };

/* "max", and version 1's largest number of pages, count as more than any machine has. */
static int64_t read_limit(const char *path)
{
    struct fault fault;
    char *text;
    size_t n;
    int64_t limit;
    if (file_read(path, 64, &text, &n, &fault) != STATUS_OK)
        return INT64_MAX;
    text[strcspn(text, "\n")] = '\0';
    bool is_number = parse_i64(text, &limit);
    mem_give(text);
    return is_number && limit > 0 ? limit : INT64_MAX;
}

/* A group may have no more than those above it. In a container the names above its own lead nowhere
 * or to itself, so every level upwards is read. */
static int64_t least_upwards(const char *mount, const char *group, const char *file)
{
    char path[PATH_BYTES];
    int64_t least = INT64_MAX;
    size_t n = strlen(group);
    for (;;) {
        while (n > 0 && group[n - 1] == '/')
            n--;
        if (snprintf(path, sizeof(path), "%s%.*s/%s", mount, (int)n, group, file) <
            (int)sizeof(path))
            least = min_i64(least, read_limit(path));
        if (n == 0)
            return least;
        while (n > 0 && group[n - 1] != '/')
            n--;
    }
}

/* One line of /proc/self/cgroup, NUMBER:CONTROLLERS:GROUP; version 2 names no controllers. */
static int64_t limit_of_line(const char *root, char *line)
{
    char mount[PATH_BYTES / 2];
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL)
        return INT64_MAX;
    *controllers++ = *group++ = '\0';
    bool is_new = *controllers == '\0';
    if (!is_new && strcmp(controllers, "memory") != 0)
        return INT64_MAX;
    snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup%s", root, is_new ? "" : "/memory");
    return least_upwards(mount, group, is_new ? "memory.max" : "memory.limit_in_bytes");
}

int64_t memory_limit_of_groups(const char *root)
{
    char path[PATH_BYTES], *text, *rest = NULL;
    struct fault fault;
    size_t n;
    int64_t least = INT64_MAX;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (file_read(path, FILE_BYTES, &text, &n, &fault) != STATUS_OK)
        return INT64_MAX;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        least = min_i64(least, limit_of_line(root, line));
    mem_give(text);
    return least;
}

int64_t memory_limit_addresses(void)
{
    struct rlimit space;
    bool is_limited = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < (rlim_t)INT64_MAX;
    return is_limited ? (int64_t)space.rlim_cur : INT64_MAX;
}

int64_t memory_limit_bytes(void)
{
    int64_t n_addresses = memory_limit_addresses();
    return min_i64(memory_limit_of_groups(""),
                   n_addresses < INT64_MAX ? n_addresses / 2 : INT64_MAX);
}

/* "MemAvailable:   23652 kB" of /proc/meminfo, in bytes. */
static int64_t read_figure(const char *text, const char *name)
{
    long long kib;
    const char *line = strstr(text, name);
    bool is_there = line != NULL && sscanf(line + strlen(name), ": %lld kB", &kib) == 1;
    return is_there ? kib * 1024 : INT64_MAX;
}

int64_t memory_limit_free(const char *root)
{
    char path[PATH_BYTES], *text;
    struct fault fault;
    size_t n;
    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    if (file_read(path, FILE_BYTES, &text, &n, &fault) != STATUS_OK)
        return INT64_MAX;
    int64_t n_free = read_figure(text, "MemAvailable");
    snprintf(path, sizeof(path), "%s/proc/sys/vm/overcommit_memory", root);
    if (read_limit(path) == 2) /* no more may be promised than there is */
        n_free =
            min_i64(n_free, read_figure(text, "CommitLimit") - read_figure(text, "Committed_AS"));
    mem_give(text);
    return n_free;
}

int64_t memory_limit_left(void)
{
    struct fault fault;
    char *text;
    size_t n;
    long long n_mapped = 0, n_resident = 0; /* pages */
    int64_t page = sysconf(_SC_PAGESIZE);
    if (file_read("/proc/self/statm", FILE_BYTES, &text, &n, &fault) == STATUS_OK) {
        if (sscanf(text, "%lld %lld", &n_mapped, &n_resident) != 2)
            n_mapped = n_resident = 0;
        mem_give(text);
    }
    int64_t least = min_i64(memory_limit_of_groups("") - n_resident * page,
                            memory_limit_addresses() - n_mapped * page);
    return max_i64(min_i64(least, memory_limit_free("")), 0);
}
