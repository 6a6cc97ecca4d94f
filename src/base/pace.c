/* Telling of slow threads. */
#include "base/pace.h"
#include "base/log.h"
#include "base/time.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SAMPLE_NS (100 * TIME_NS_PER_MS) /* between looks at what the thread has got */

struct pace_sample pace_read(void)
{
    struct pace_sample sample = { .now_ns = time_now_ns() };
    char text[96];
    long long on_core = 0, in_queue = 0;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%lld %lld", &on_core, &in_queue) != 2) { /* a kernel without it */
        on_core = time_thread_cpu_ns();
        in_queue = 0;
    }
    sample.on_core_ns = on_core;
    sample.in_queue_ns = in_queue;
    return sample;
}

void pace_begin(struct pace *pace, const char *part)
{
    *pace = (struct pace){ .sample = pace_read() };
    snprintf(pace->part, sizeof(pace->part), "%s", part);
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)TIME_NS_PER_S;
}

static void tell(struct pace *pace, int64_t slow_ns, const char *what)
{
    struct pace_sample now = pace_read();
    int64_t span = now.now_ns - pace->sample.now_ns;
    int64_t on_core = now.on_core_ns - pace->sample.on_core_ns;
    int64_t in_queue = now.in_queue_ns - pace->sample.in_queue_ns;
    pace->sample = now;
    if (pace->told_ns != 0 && now.now_ns - pace->told_ns < PACE_SLOW_NS) {
        pace->n_untold++;
        return;
    }
    char more[48] = "";
    if (pace->n_untold > 0)
        snprintf(more, sizeof(more), "; %u such untold before", pace->n_untold);
    log_line(LOG_WARN, pace->part,
             "%s %.1f s (of the last %.1f s: %.1f computing, %.1f ready but without a core, %.1f "
             "asleep or blocked)%s",
             what, seconds(slow_ns), seconds(span), seconds(on_core), seconds(in_queue),
             seconds(max_i64(0, span - on_core - in_queue)), more);
    pace->told_ns = now.now_ns;
    pace->n_untold = 0;
}

int64_t pace_took(struct pace *pace, int64_t begin_ns, const char *what)
{
    int64_t now_ns = time_now_ns();
    if (now_ns - begin_ns > PACE_SLOW_NS)
        tell(pace, now_ns - begin_ns, what);
    else if (now_ns - pace->sample.now_ns > SAMPLE_NS)
        pace->sample = pace_read();
    return now_ns;
}

int64_t pace_due(struct pace *pace, int64_t due_ns, const char *what)
{
    /* A thread without a due time is never late. */
    return pace_took(pace, due_ns == TIME_NEVER ? time_now_ns() : due_ns, what);
}
