/* Measures the processor time of others: the machine's less our own. */
#include "roofline/busy.h"

#include "base/time.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int64_t roofline_busy_parse(const char *stat, long ticks_per_s)
{
    enum { USER, NICE, SYSTEM, IDLE, WAITING, INTERRUPTS, SOFT, STOLEN, FIELDS };
    int64_t ticks[FIELDS] = { 0 }, sum = 0;
    if (strncmp(stat, "cpu ", 4) != 0 || ticks_per_s <= 0)
        return -1;
    const char *at = stat + 4;
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        ticks[i] = strtoll(at, &end, 10);
        if (end == at || ticks[i] < 0)
            return -1;
        at = end;
        sum += i == IDLE || i == WAITING ? 0 : ticks[i];
    }
    return sum * (TIME_NS_PER_S / ticks_per_s);
}

static int64_t usage_ns(int who)
{
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
        return 0;
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * TIME_NS_PER_S +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

struct busy roofline_busy_now(void)
{
    char line[512] = "";
    FILE *file = fopen("/proc/stat", "r");
    if (file != NULL) {
        if (fgets(line, sizeof(line), file) == NULL)
            line[0] = '\0';
        fclose(file);
    }
    return (struct busy){ .all_ns = roofline_busy_parse(line, sysconf(_SC_CLK_TCK)),
                          .own_ns = usage_ns(RUSAGE_SELF) + usage_ns(RUSAGE_CHILDREN),
                          .wall_ns = time_now_ns() };
}

double roofline_busy_others(const struct busy *from, const struct busy *to)
{
    int64_t others = to->all_ns - from->all_ns - (to->own_ns - from->own_ns);
    if (from->all_ns < 0 || to->all_ns < 0 || to->wall_ns <= from->wall_ns)
        return 0;
    return (double)max_i64(others, 0) / (double)(to->wall_ns - from->wall_ns);
}
