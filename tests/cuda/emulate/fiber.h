/* The inside of the emulator: what its files share. */
#pragma once
#include "emulate/emulate.h"
#include <string>
#include <vector>

namespace emulate
{
enum { THREADS_MAX = 1024, WARP = 32, WARPS_MAX = THREADS_MAX / WARP, GRID_MAX = 65535 };
enum { SHARED_MAX = 227 * 1024 }; /* of a block, dynamic */
enum fiber_state { READY, IN_WARP, IN_BARRIER, OVER };

struct pending_copy { /* a cp.async that has not landed */
    void *to;
    const void *from;
    unsigned n_bytes, n_valid, group;
};
struct stack { /* of threads that run, one after another */
    void *base;
    unsigned index;
};
struct fiber : thread_view { /* one thread of the block that runs */
    unsigned index, warp, lane;
    unsigned n_meetings; /* operations of its whole warp that ordered its memory (race check) */
    fiber_state state;
    warp_call waits_in; /* IN_WARP: its part; IN_BARRIER: the place */
    uint64_t result;
    std::vector<pending_copy> copies;
    unsigned copy_group;
    struct stack *stack; /* NULL: it has not begun, or it has returned */
    void *context, *fake_stack;
};
struct meeting { /* lanes of a warp that wait for each other */
    unsigned mask, arrived;
    int op;
    site at;
};
struct warp_state {
    unsigned lanes, over; /* the lanes that there are, and those that have returned */
    int n_meetings;
    meeting meetings[WARP];
};

extern fiber fibers[THREADS_MAX];
extern warp_state warps[WARPS_MAX];
inline fiber *running()
{
    return static_cast<fiber *>(current);
}
/* Makes the thread ready to go on: ahead of those that are ready, except in blocks whose warps take
 * turns. So a warp mostly runs to its next barrier while its stacks are in the cache. */
void wake(fiber *f);
/* The running thread stops until it is woken. */
void wait(fiber_state state);
/* Ends the launch. */
[[noreturn]] void fail(const std::string &why);
std::string name_of(const fiber *f);
std::string place_of(site at);
const char *op_name(int op);
/* Performs an operation whose lanes have all arrived; warp.cpp. */
void perform(fiber *lane0, unsigned mask, int op);
/* The running thread returned from its kernel: whether a lane still waits for it. */
void leave_warp(fiber *f);

/* Runs a launch on this thread, which holds the GPU. */
bool run(const call &call);
/* Whether the launch can be: its sentence, or empty. */
std::string refusal_of(const shape &s);
/* Keeps a fault, or ends the process. */
void report(const std::string &why);
uint64_t random_bits();
extern emulate_counts counts;

/* ---- Memory (memory.cpp): one range of addresses, at its start the dynamic shared memory. ---- */
enum : size_t { ARENA_BYTES = (size_t)16 << 30, SHARED_BYTES = (size_t)1 << 20 };
extern unsigned char *arena_base; /* NULL: not opened */
unsigned char *open_arena();
inline unsigned char *arena()
{
    return arena_base != nullptr ? arena_base : open_arena();
}
/* Says whose red zones were written to; empty: none. */
std::string memory_damage();

/* ---- The race check (race.cpp); no calls where it is not linked. ---- */
struct race_hooks {
    void (*access)(const void *p, size_t n, bool is_write, bool is_atomic, const void *pc);
    void (*begin_launch)();
    void (*begin_block)();
    void (*barrier)();      /* of the block */
    std::string (*found)(); /* by this launch */
};
extern const race_hooks *races;
struct range {
    char *first, *end;
};
range shared_variables(); /* the thread-local ones of this program */
} // namespace emulate
