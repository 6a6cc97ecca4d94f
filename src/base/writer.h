/* A thread that writes records to a slow place, as a file on a disk that may stall. The caller puts
 * records into a bounded queue and never waits for them.
 *
 *   put --> ring --> the thread calls write --> written
 *                       ^---- failed: again after a second ----|
 *
 * One thread puts. While writes fail, the queue may become full, and then puts are refused. */
#pragma once
#include "base/ring.h"

struct writer;
struct writer_options {
    const char *name; /* of the thread, up to 15 characters */
    uint64_t ring_bytes;
    /* Writes some of the ring's records, and pops those that it is done with. Returns false when it
     * has to be tried again after a second. Called in the thread, also when there are none. */
    bool (*write)(void *self, struct ring *ring);
    void *self;
};
struct writer *writer_start(const struct writer_options *options);
/* Ends the thread when all that was put is written, or when a write fails. NULL is fine. */
void writer_end(struct writer *writer);
/* Puts both parts as one record. Returns false when there is no room until some are written. */
bool writer_put(struct writer *writer, const void *part1, size_t n1, const void *part2,
                size_t n2) MUST_USE;
void writer_wake(struct writer *writer); /* after one or more puts */
