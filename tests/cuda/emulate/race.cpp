/* Finds races: two threads that touch the same byte, one of them writing, with nothing that orders
 * them. The kernels are compiled with -fsanitize=thread, which reports each access to the functions
 * below; the sanitizer's own library is not linked.
 *
 * Only barriers order the threads of a block, so a race is found in whatever order they ran. A cell
 * remembers the last write and the last read of a word of 4 bytes. Once a launch has touched a part
 * of a word, each of its bytes has a cell of its own until the launch ends. An interval is the time
 * between two barriers of one block; intervals, and so blocks and launches, are numbered upwards.
 */
#include "emulate/fiber.h"

#include <algorithm>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

namespace emulate
{
enum : uint16_t { MANY = 0xFFFF, ATOMIC = 0x8000, WARP_ONLY = 0x8000 };

struct touch {
    uint32_t interval;
    uint16_t thread; /* of a read also MANY, or WARP_ONLY | the warp whose lanes read it */
    uint16_t meetings;
    uint32_t place; /* the code's address in the program */
};
struct cell {
    touch write, read;
};
struct word_cell {
    cell all;
    uint32_t split; /* the interval in which bytes got cells of their own */
};
struct cells { /* of a range of addresses */
    word_cell *words;
    cell *bytes;
};

static cells arena_cells, variable_cells;
static range variables;
static uint32_t interval, first_of_launch, first_of_block;
static std::string findings;
static int n_findings;
static uintptr_t program;

static void *reserve(size_t n_bytes)
{
    void *p = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        perror("emulate: the cells of the race check");
        abort();
    }
    return p;
}

static cells open_cells_of(size_t n_bytes)
{
    return { (word_cell *)reserve((n_bytes / 4 + 1) * sizeof(word_cell)),
             (cell *)reserve((n_bytes + 1) * sizeof(cell)) };
}

static void open_cells()
{
    Dl_info info;
    if (arena_cells.words != nullptr)
        return;
    arena_cells = open_cells_of(ARENA_BYTES);
    variables = shared_variables();
    variable_cells = open_cells_of((size_t)(variables.end - variables.first));
    if (dladdr((void *)&open_cells, &info) == 0)
        abort();
    program = (uintptr_t)info.dli_fbase;
}

static void begin_launch()
{
    open_cells();
    variables = shared_variables(); /* of the thread that runs the launch */
    first_of_launch = interval + 1;
    findings.clear();
    n_findings = 0;
}

static void begin_block()
{
    first_of_block = ++interval;
}

static void barrier_passed()
{
    interval++;
}

/* File and line of two addresses of the program, by addr2line. */
static std::string places_of(uint32_t now, uint32_t before, const std::string &middle)
{
    char command[200], line[2][200] = { "?", "?" };
    snprintf(command, sizeof command, "addr2line -s -e /proc/%d/exe %x %x", (int)getpid(), now - 1,
             before - 1);
    if (FILE *f = popen(command, "r")) {
        for (char(&l)[200] : line)
            if (fgets(l, sizeof l, f) != nullptr)
                l[strcspn(l, "\n ")] = 0;
        pclose(f);
    }
    return std::string(line[0]) + middle + line[1];
}

static void found(const char *what, const void *p, const touch &now, const touch &before)
{
    if (n_findings++ >= 3)
        return;
    const bool is_global =
        (size_t)((const unsigned char *)p - arena()) - SHARED_BYTES < ARENA_BYTES - SHARED_BYTES;
    const bool is_other_block = before.interval < first_of_block;
    std::string by = before.thread == MANY       ? "several threads"
                     : before.thread & WARP_ONLY ? "a warp"
                                                 : "thread " + std::to_string(before.thread);
    findings += (findings.empty() ? "race on " : "; race on ") +
                std::string(is_global ? "global" : "shared") + " memory (" + what +
                "): " + name_of(running()) + " at " +
                places_of(now.place, before.place,
                          ", not ordered with " + by + (is_other_block ? " of another block" : "") +
                              " at ");
}

/* Whether barriers order an earlier touch ahead of the running thread's. */
static bool is_ordered(const touch &t, bool is_global, const touch &now)
{
    if (t.interval < first_of_launch || t.interval == 0)
        return true;
    if (t.interval < first_of_block)
        return !is_global; /* another block; shared memory is each block's own */
    if (t.interval < interval || t.thread == now.thread)
        return true;
    if (t.thread == MANY)
        return false;
    const unsigned warp = t.thread & WARP_ONLY ? t.thread & 0x7FFF : t.thread / WARP;
    return warp == now.thread / WARP && t.meetings < now.meetings;
}

/* A read that a barrier orders ahead of this one is forgotten: what is ordered behind this one is
 * ordered behind both. */
static void remember_read(touch *last, const touch &now)
{
    if (last->interval != now.interval || is_ordered(*last, true, now)) {
        *last = now;
        return;
    }
    if (last->thread != MANY) {
        const unsigned warp =
            last->thread & WARP_ONLY ? last->thread & 0x7FFF : last->thread / WARP;
        const bool is_same_warp = warp == now.thread / WARP;
        last->thread = is_same_warp ? (uint16_t)(WARP_ONLY | warp) : (uint16_t)MANY;
    }
    last->meetings = std::max(last->meetings, now.meetings); /* all of them must be ordered */
    last->place = now.place;
}

static void touch_cell(cell *c, const char *p, const touch &now, bool is_global, int how)
{
    const bool is_write = how & 1, is_atomic = how & 2;
    const bool are_both_atomic = is_atomic && (c->write.meetings & ATOMIC);
    touch last = c->write;
    last.meetings &= 0x7FFF;
    if (!are_both_atomic && !is_ordered(last, is_global, now)) {
        found(is_write ? "write after write" : "read after write", p, now, last);
        c->write.interval = 0;
        return;
    }
    if (!is_write) {
        remember_read(&c->read, now);
        return;
    }
    if (!is_ordered(c->read, is_global, now)) {
        found("write after read", p, now, c->read);
        c->read.interval = 0;
        return;
    }
    c->write = now;
    c->write.meetings = (uint16_t)(now.meetings | (is_atomic ? ATOMIC : 0));
}

/* Touches n bytes that lie in one word, `at` bytes from the start of the cells' range. */
static void touch_word(const cells *all, size_t at, size_t n, const char *p, const touch &now,
                       bool is_global, int how)
{
    word_cell *word = &all->words[at / 4];
    const bool is_split = word->split >= first_of_launch;
    if (!is_split && n == 4) {
        touch_cell(&word->all, p, now, is_global, how);
        return;
    }
    cell *bytes = &all->bytes[at / 4 * 4];
    if (!is_split) {
        std::fill(bytes, bytes + 4, word->all);
        word->split = now.interval;
    }
    for (size_t i = 0; i < n; i++)
        touch_cell(bytes + at % 4 + i, p + i, now, is_global, how);
}

/* Most accesses are to a thread's own variables and arguments, which are not watched. */
static inline bool is_watched(const void *p)
{
    return (size_t)((const unsigned char *)p - arena_base) < ARENA_BYTES ||
           ((const char *)p >= variables.first && (const char *)p < variables.end);
}

static void access(const void *at, size_t n, bool is_write, bool is_atomic, const void *pc)
{
    const char *p = (const char *)at;
    if (current == nullptr || !is_watched(at))
        return;
    size_t offset = (size_t)((const unsigned char *)p - arena_base);
    const bool is_global = offset >= SHARED_BYTES && offset < ARENA_BYTES;
    const cells *all = &arena_cells;
    if (offset >= ARENA_BYTES) {
        all = &variable_cells;
        offset = (size_t)(p - variables.first);
    }
    const fiber *f = running();
    const touch now = { interval, (uint16_t)f->index, (uint16_t)(f->n_meetings & 0x7FFF),
                        (uint32_t)((uintptr_t)pc - program) };
    for (size_t i = 0, n_here; i < n; i += n_here) {
        n_here = std::min(n - i, 4 - (offset + i) % 4);
        touch_word(all, offset + i, n_here, p + i, now, is_global, is_write | is_atomic << 1);
    }
}

static std::string all_found()
{
    std::string text = findings;
    if (n_findings > 3)
        text += "; and " + std::to_string(n_findings - 3) + " more";
    return text;
}

static const race_hooks hooks = { access, begin_launch, begin_block, barrier_passed, all_found };
static const bool is_linked = (races = &hooks) != nullptr;
} // namespace emulate

/* What the compiler's instrumentation calls. */
#define CALLER __builtin_return_address(0)
#define EMULATE_TSAN_ONE(name, n, is_write)                                                        \
    void name(void *p)                                                                             \
    {                                                                                              \
        if (emulate::is_watched(p))                                                                \
            emulate::access(p, n, is_write, false, CALLER);                                        \
    }
#define EMULATE_TSAN(n)                                                                            \
    EMULATE_TSAN_ONE(__tsan_read##n, n, false)                                                     \
    EMULATE_TSAN_ONE(__tsan_write##n, n, true)                                                     \
    EMULATE_TSAN_ONE(__tsan_unaligned_read##n, n, false)                                           \
    EMULATE_TSAN_ONE(__tsan_unaligned_write##n, n, true)
extern "C" {
EMULATE_TSAN(1)
EMULATE_TSAN(2)
EMULATE_TSAN(4)
EMULATE_TSAN(8)
EMULATE_TSAN(16)
void __tsan_init()
{
}
void __tsan_func_entry(void *)
{
}
void __tsan_func_exit()
{
}
void __tsan_vptr_update(void **, void *)
{
}
void __tsan_vptr_read(void **)
{
}
void __tsan_read_range(void *p, size_t n)
{
    emulate::access(p, n, false, false, CALLER);
}
void __tsan_write_range(void *p, size_t n)
{
    emulate::access(p, n, true, false, CALLER);
}
void *__tsan_memcpy(void *to, const void *from, size_t n)
{
    emulate::access(from, n, false, false, CALLER);
    emulate::access(to, n, true, false, CALLER);
    return memcpy(to, from, n);
}
void *__tsan_memmove(void *to, const void *from, size_t n)
{
    emulate::access(from, n, false, false, CALLER);
    emulate::access(to, n, true, false, CALLER);
    return memmove(to, from, n);
}
void *__tsan_memset(void *to, int byte, size_t n)
{
    emulate::access(to, n, true, false, CALLER);
    return memset(to, byte, n);
}
}
