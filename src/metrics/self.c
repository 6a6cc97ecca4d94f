/* Figures of this process from /proc, under the names that Prometheus's own clients use. */
#include "metrics/self.h"
#include "base/file.h"
#include "base/mem.h"
#include "metrics/print.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void print(struct str *out, const char *name, const char *help, const char *type,
                  double value)
{
    metrics_print_name(out, name, help, type);
    str_printf(out, "%s %.15g\n", name, value);
}

/* Returns when the machine started, as Unix time; 0 = unknown. */
static int64_t read_boot_unix_s(void)
{
    struct fault fault;
    char *text;
    size_t n;
    long long boot_s = 0;
    if (file_read("/proc/stat", 16 << 20, &text, &n, &fault) != STATUS_OK)
        return 0;
    const char *line = strstr(text, "\nbtime ");
    if (line == NULL || sscanf(line, " btime %lld", &boot_s) != 1)
        boot_s = 0;
    mem_give(text);
    return boot_s;
}

/* Prints fields 14 and 15 (CPU ticks), 22 (ticks from the machine's start to ours), 23 and 24
 * (bytes, pages) of /proc/self/stat. The second field may hold blanks and brackets. */
static void print_stat(struct str *out)
{
    struct fault fault;
    char *text;
    size_t n;
    unsigned long long user, kernel, start, virtual_bytes;
    long long pages;
    double ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    if (file_read("/proc/self/stat", 4096, &text, &n, &fault) != STATUS_OK)
        return;
    const char *rest = strrchr(text, ')');
    if (rest != NULL && sscanf(rest,
                               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d "
                               "%*d %*d %*d %*d %llu %llu %lld",
                               &user, &kernel, &start, &virtual_bytes, &pages) == 5) {
        int64_t boot_unix_s = read_boot_unix_s();
        print(out, "process_cpu_seconds_total", "Processor time of all threads.", "counter",
              (double)(user + kernel) / ticks_per_s);
        print(out, "process_resident_memory_bytes", "Memory that is resident.", "gauge",
              (double)pages * (double)sysconf(_SC_PAGESIZE));
        print(out, "process_virtual_memory_bytes", "Memory that is mapped.", "gauge",
              (double)virtual_bytes);
        if (boot_unix_s > 0)
            print(out, "process_start_time_seconds", "When it started, as Unix time.", "gauge",
                  (double)boot_unix_s + (double)start / ticks_per_s);
    }
    mem_give(text);
}

static void print_files(struct str *out)
{
    struct rlimit limit;
    int n_open = -1; /* without the folder's own */
    DIR *folder = opendir("/proc/self/fd");
    if (folder != NULL) {
        for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
            n_open += entry->d_name[0] != '.';
        closedir(folder);
        print(out, "process_open_fds", "Open files and sockets.", "gauge", n_open);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        print(out, "process_max_fds", "The most that it may open.", "gauge",
              (double)limit.rlim_cur);
}

void metrics_self_print(struct str *out)
{
    print_stat(out);
    print_files(out);
}
