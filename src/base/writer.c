/* Runs the thread of a queue of records. */
#include "base/writer.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"

static const int64_t AGAIN_NS = TIME_NS_PER_S;

struct writer {
    struct writer_options options;
    struct ring *ring;
    struct wake wake;
    struct thread *thread;
    _Atomic bool is_over;
};

static void run(void *self)
{
    struct writer *w = self;
    for (;;) {
        bool is_over = w->is_over; /* read ahead of the ring, which nothing is put into after it */
        wake_clear(&w->wake);
        bool is_well = w->options.write(w->options.self, w->ring);
        bool is_done = is_well && ring_is_empty(w->ring);
        if (is_over && (!is_well || is_done))
            break;
        if (!is_well || is_done)
            wake_wait(&w->wake, is_well ? -1 : AGAIN_NS);
    }
}

struct writer *writer_start(const struct writer_options *options)
{
    struct writer *w = mem_take(sizeof *w);
    w->options = *options;
    w->ring = mem_take(ring_bytes(options->ring_bytes));
    ring_init(w->ring, options->ring_bytes);
    wake_open(&w->wake);
    w->thread = thread_start(options->name, run, w);
    return w;
}

void writer_end(struct writer *w)
{
    if (w == NULL)
        return;
    w->is_over = true;
    wake_up(&w->wake);
    thread_join(w->thread);
    wake_close(&w->wake);
    mem_give(w->ring);
    mem_give(w);
}

bool writer_put(struct writer *w, const void *part1, size_t n1, const void *part2, size_t n2)
{
    return ring_put(w->ring, part1, n1, part2, n2);
}

void writer_wake(struct writer *w)
{
    wake_up(&w->wake);
}
