/* Threads of a block as fibers: stacks, the switch, barriers, and the order of everything. */
#include "emulate/fiber.h"

#include <link.h>
#include <numeric>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef EMULATE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__) || defined(EMULATE_UCONTEXT)
#include <ucontext.h>
#define BY_UCONTEXT 1
#endif

namespace emulate
{
#ifdef EMULATE_ASAN
enum : size_t { STACK_BYTES = 256 << 10 };
#else
enum : size_t { STACK_BYTES = 64 << 10 };
#endif

thread_view *current;
block_view block;
fiber fibers[THREADS_MAX];
warp_state warps[WARPS_MAX];
const race_hooks *races;

static fiber host; /* where a block's threads return to */
static fiber *ready[THREADS_MAX];
static unsigned first_ready, n_ready, n_threads, n_over;
static bool takes_turns; /* this block's warps do, at each of their operations */
static std::vector<stack *> free_stacks;
static const call *kernel;
static bool is_failed;
static std::string fault_of_launch;
static unsigned char *shared;
emulate_counts counts;
static uint64_t seed = 1, random_state = 1;

struct block_barrier { /* of the block: how many have arrived, and what was said there */
    unsigned n_arrived;
    int op;
    site at;
    unsigned n_true;
};
static block_barrier meeting_point;

uint64_t random_bits()
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

std::string place_of(site at)
{
    return std::string(at.file) + ":" + std::to_string(at.line);
}

std::string name_of(const fiber *f)
{
    char text[120];
    snprintf(text, sizeof text, "thread (%u,%u,%u) of block (%u,%u,%u)", f->thread.x, f->thread.y,
             f->thread.z, block.index.x, block.index.y, block.index.z);
    return text;
}

/* ---- The switch. ---- */

[[maybe_unused]] static void *host_stack;
[[maybe_unused]] static size_t host_stack_bytes;

static void begin(fiber *f);

#ifdef BY_UCONTEXT
static void change(fiber *from, fiber *to)
{
    swapcontext((ucontext_t *)from->context, (ucontext_t *)to->context);
}

static void prepare_context(fiber *f, void (*start)())
{
    if (f->context == nullptr)
        f->context = new ucontext_t;
    ucontext_t *c = (ucontext_t *)f->context;
    getcontext(c);
    c->uc_stack.ss_sp = f->stack->base;
    c->uc_stack.ss_size = STACK_BYTES;
    c->uc_link = nullptr;
    makecontext(c, start, 0);
}
#else
/* Saves the registers that a call preserves on the stack, and goes on with another stack. */
asm(".text\n"
    ".type emulate_change, @function\n"
    "emulate_change:\n"
    "    push %rbx\n"
    "    push %rbp\n"
    "    push %r12\n"
    "    push %r13\n"
    "    push %r14\n"
    "    push %r15\n"
    "    mov %rsp, (%rdi)\n"
    "    mov %rsi, %rsp\n"
    "    pop %r15\n"
    "    pop %r14\n"
    "    pop %r13\n"
    "    pop %r12\n"
    "    pop %rbp\n"
    "    pop %rbx\n"
    "    ret\n"
    ".size emulate_change, .-emulate_change\n");
extern "C" void emulate_change(void **saved, void *stack);

static void change(fiber *from, fiber *to)
{
    emulate_change(&from->context, to->context);
}

static void prepare_context(fiber *f, void (*start)())
{
    /* Tops are staggered, since equal ones would share the sets of the cache. */
    uintptr_t top = (uintptr_t)f->stack->base + STACK_BYTES - f->stack->index % 61 * 64;
    void **words = (void **)(top & ~(uintptr_t)15);
    *--words = nullptr; /* start's return address: it has none, and the ABI's alignment */
    *--words = (void *)start;
    for (int i = 0; i < 6; i++)
        *--words = nullptr;
    f->context = words;
}
#endif

static void switch_to(fiber *to, [[maybe_unused]] bool is_last)
{
    fiber *from = running();
    if (from == to)
        return;
    if (to != &host && to->stack == nullptr)
        begin(to);
    current = to;
    counts.n_switches++;
#ifdef EMULATE_ASAN
    __sanitizer_start_switch_fiber(is_last ? nullptr : &from->fake_stack,
                                   to == &host ? host_stack : to->stack->base,
                                   to == &host ? host_stack_bytes : (size_t)STACK_BYTES);
    change(from, to);
    __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
#else
    change(from, to);
#endif
}

/* ---- Who runs next. ---- */

static void wake_last(fiber *f)
{
    f->state = READY;
    ready[(first_ready + n_ready++) % THREADS_MAX] = f;
}

void wake(fiber *f)
{
    if (takes_turns) {
        wake_last(f);
        return;
    }
    f->state = READY;
    first_ready = (first_ready + THREADS_MAX - 1) % THREADS_MAX;
    ready[first_ready] = f;
    n_ready++;
}

static std::string deadlock()
{
    std::string text = "deadlock: no thread can go on";
    for (unsigned i = 0, n = 0; i < n_threads && n < 4; i++) {
        const fiber *f = &fibers[i];
        bool is_like_last = i > 0 && fibers[i - 1].state == f->state &&
                            fibers[i - 1].waits_in.at.line == f->waits_in.at.line;
        if (f->state == OVER || is_like_last)
            continue;
        text += "; " + name_of(f) + " waits in " +
                (f->state == IN_BARRIER ? "__syncthreads" : op_name(f->waits_in.op)) + " at " +
                place_of(f->waits_in.at);
        n++;
    }
    return text + "; " + std::to_string(n_over) + " have returned";
}

static fiber *next()
{
    if (n_ready == 0 && n_over == n_threads)
        return &host;
    if (n_ready == 0)
        fail(deadlock());
    fiber *f = ready[first_ready];
    first_ready = (first_ready + 1) % THREADS_MAX;
    n_ready--;
    return f;
}

void wait(fiber_state state)
{
    running()->state = state;
    switch_to(next(), false);
}

void fail(const std::string &why)
{
    if (!is_failed)
        fault_of_launch = why;
    is_failed = true;
    switch_to(&host, true);
    abort();
}

void trap(site at)
{
    fail(name_of(running()) + " trapped at " + place_of(at));
}

/* All threads in a new order. */
static void wake_all()
{
    unsigned order[THREADS_MAX];
    std::iota(order, order + n_threads, 0u);
    for (unsigned i = n_threads - 1; i > 0; i--)
        std::swap(order[i], order[random_bits() % (i + 1)]);
    for (unsigned i = 0; i < n_threads; i++)
        wake_last(&fibers[order[i]]);
}

/* ---- Barriers. ---- */

static int verdict(const block_barrier &b)
{
    return b.op == 1 ? (int)b.n_true : b.op == 2 ? b.n_true == n_threads : b.n_true > 0;
}

void barrier(int op, int *predicate, site at)
{
    fiber *f = running();
    block_barrier *b = &meeting_point;
    if (n_over > 0)
        fail(name_of(f) + " waits in __syncthreads at " + place_of(at) + ", but " +
             std::to_string(n_over) + " threads of its block have returned");
    if (b->n_arrived == 0)
        *b = { 0, op, at, 0 };
    if (b->at.line != at.line || strcmp(b->at.file, at.file) != 0)
        fail(name_of(f) + " waits in __syncthreads at " + place_of(at) +
             ", others of its block at " + place_of(b->at));
    f->waits_in.at = at;
    b->n_true += predicate != nullptr && *predicate != 0;
    bool is_last = ++b->n_arrived == n_threads;
    if (is_last) {
        int result = verdict(*b);
        b->n_arrived = 0;
        for (unsigned i = 0; i < n_threads; i++)
            fibers[i].result = (uint64_t)result;
        if (races != nullptr)
            races->barrier();
        wake_all(); /* the last to arrive has a place in the new order too */
        f->state = READY;
        switch_to(next(), false);
    } else {
        wait(IN_BARRIER);
    }
    if (predicate != nullptr)
        *predicate = (int)f->result;
}

/* ---- A thread's life. ---- */

static void run_thread()
{
    kernel->thread();
    fiber *f = running();
    f->state = OVER;
    n_over++;
    if (!f->copies.empty())
        fail(name_of(f) + " returned ahead of its asynchronous copies");
    leave_warp(f);
    if (meeting_point.n_arrived > 0)
        fail(name_of(f) + " returned, but " + std::to_string(meeting_point.n_arrived) +
             " threads of its block wait in __syncthreads at " + place_of(meeting_point.at));
}

/* A thread that has returned leaves its stack to the next one that begins. */
static void start()
{
#ifdef EMULATE_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    for (;;) {
        run_thread();
        fiber *f = running(), *to = next();
        if (to == &host || to->stack != nullptr) {
            free_stacks.push_back(f->stack);
            f->stack = nullptr;
            switch_to(to, true);
            abort();
        }
        to->stack = f->stack;
        f->stack = nullptr;
        current = to;
    }
}

static stack *new_stack()
{
    static unsigned n_stacks;
    enum : size_t { GUARD_BYTES = 4096 }; /* an overflow faults */
    void *p = mmap(nullptr, STACK_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p, GUARD_BYTES, PROT_NONE) != 0) {
        perror("emulate: a stack");
        abort();
    }
    return new stack{ (char *)p + GUARD_BYTES, n_stacks++ };
}

/* Gives the thread a stack on which it begins when it is switched to. */
static void begin(fiber *f)
{
    if (free_stacks.empty())
        free_stacks.push_back(new_stack());
    f->stack = free_stacks.back();
    free_stacks.pop_back();
#ifdef EMULATE_ASAN
    __asan_unpoison_memory_region(f->stack->base, STACK_BYTES); /* of frames that never returned */
#endif
    prepare_context(f, start);
}

static void prepare(unsigned index)
{
    fiber *f = &fibers[index];
    f->thread = { index % block.size.x, index / block.size.x % block.size.y,
                  index / (block.size.x * block.size.y) };
    f->index = index;
    f->warp = index / WARP;
    f->lane = index % WARP;
    f->n_meetings = 0;
    f->copies.clear();
    f->copy_group = 0;
    f->fake_stack = nullptr;
    f->stack = nullptr;
}

/* ---- Blocks and launches. ---- */

/* The thread-local variables of the module that this code is part of. */
static int find_shared(dl_phdr_info *info, size_t, void *out)
{
    const uintptr_t here = (uintptr_t)&find_shared;
    range found = { nullptr, nullptr };
    bool is_here = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &p = info->dlpi_phdr[i];
        if (p.p_type == PT_LOAD)
            is_here = is_here || here - (info->dlpi_addr + p.p_vaddr) < p.p_memsz;
        if (p.p_type == PT_TLS && info->dlpi_tls_data != nullptr)
            found = { (char *)info->dlpi_tls_data, (char *)info->dlpi_tls_data + p.p_memsz };
    }
    if (is_here)
        *(range *)out = found;
    return is_here;
}

range shared_variables()
{
    range r = { nullptr, nullptr };
#ifndef EMULATE_ASAN
    dl_iterate_phdr(find_shared, &r);
#else
    (void)find_shared;
#endif
    return r;
}

unsigned char *shared_dyn()
{
    return shared;
}

static void run_block(const shape &s, range variables)
{
    first_ready = n_ready = n_over = 0;
    meeting_point.n_arrived = 0;
    memset(shared, 0xFF, s.shared_bytes);
    if (variables.first != nullptr)
        memset(variables.first, 0xFF, (size_t)(variables.end - variables.first));
    for (unsigned i = 0; i < n_threads; i += WARP)
        warps[i / WARP] = { n_threads - i >= WARP ? ~0u : (1u << (n_threads - i)) - 1, 0, 0, {} };
    for (unsigned i = 0; i < n_threads; i++)
        prepare(i);
    takes_turns = random_bits() % 8 == 0;
    wake_all();
    if (races != nullptr)
        races->begin_block();
    counts.n_blocks++;
    counts.n_threads += n_threads;
    switch_to(next(), false);
    for (unsigned i = 0; i < n_threads && is_failed; i++) /* of threads that never return */
        if (fibers[i].stack != nullptr)
            free_stacks.push_back(fibers[i].stack);
}

/* Every block once, in an order that the seed gives. */
static void run_blocks(const shape &s, range variables)
{
    const size_t n = (size_t)s.grid.x * s.grid.y * s.grid.z;
    size_t stride = random_bits() % n | 1, at = random_bits() % n;
    while (std::gcd(stride, n) != 1)
        stride += 2;
    for (size_t i = 0; i < n && !is_failed; i++, at = (at + stride) % n) {
        block.index = { (unsigned)(at % s.grid.x), (unsigned)(at / s.grid.x % s.grid.y),
                        (unsigned)(at / s.grid.x / s.grid.y) };
        run_block(s, variables);
    }
}

/* ASan must know the bounds of the stack that a thread of the host has. */
static void find_host_stack()
{
#ifdef EMULATE_ASAN
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        abort();
    pthread_attr_getstack(&attr, &host_stack, &host_stack_bytes);
    pthread_attr_destroy(&attr);
#endif
#ifdef BY_UCONTEXT
    if (host.context == nullptr)
        host.context = new ucontext_t;
#endif
}

std::string refusal_of(const shape &s)
{
    const uint64_t n = (uint64_t)s.block.x * s.block.y * s.block.z;
    std::string name = std::string(s.name) + ": ";
    if (n == 0 || n > THREADS_MAX || s.block.z > 64)
        return name + "a block of " + std::to_string(n) + " threads, at most 1024";
    if (s.grid.x == 0 || s.grid.y == 0 || s.grid.z == 0 || s.grid.x > INT32_MAX ||
        s.grid.y > GRID_MAX || s.grid.z > GRID_MAX)
        return name + "a grid of (" + std::to_string(s.grid.x) + "," + std::to_string(s.grid.y) +
               "," + std::to_string(s.grid.z) + ") blocks";
    if (s.shared_bytes > SHARED_MAX)
        return name + std::to_string(s.shared_bytes) + " bytes of shared memory";
    return "";
}

static void open_shared(const shape &s)
{
#ifdef EMULATE_ASAN
    shared = (unsigned char *)aligned_alloc(128, (s.shared_bytes + 255) / 128 * 128);
    __asan_poison_memory_region(shared + s.shared_bytes, 128 - s.shared_bytes % 128);
#else
    shared = arena() + SHARED_BYTES - (s.shared_bytes + 127) / 128 * 128; /* its end is guarded */
#endif
}

bool run(const call &c)
{
    const shape &s = c.shape;
    const range variables = shared_variables();
    const size_t n_variables = (size_t)(variables.end - variables.first);
    std::vector<char> kept(variables.first, variables.end); /* the host's own thread-locals */
    find_host_stack();
    is_failed = false;
    fault_of_launch.clear();
    n_threads = s.block.x * s.block.y * s.block.z;
    kernel = &c;
    host.fake_stack = nullptr;
    current = &host;
    block.size = { s.block.x, s.block.y, s.block.z };
    block.grid = { s.grid.x, s.grid.y, s.grid.z };
    random_state = (seed + counts.n_launches) * 0x9E3779B97F4A7C15u | 1;
    counts.n_launches++;
    open_shared(s);
    if (races != nullptr)
        races->begin_launch();
    run_blocks(s, variables);
    current = nullptr;
    if (n_variables > 0)
        memcpy(variables.first, kept.data(), n_variables);
#ifdef EMULATE_ASAN
    free(shared);
#endif
    if (races != nullptr && !is_failed)
        fault_of_launch = races->found();
    if (fault_of_launch.empty())
        fault_of_launch = memory_damage();
    if (fault_of_launch.empty())
        return true;
    report(std::string(s.name) + ": " + fault_of_launch);
    return false;
}

void note([[maybe_unused]] const void *p, size_t n, bool is_write, bool is_atomic)
{
    if (races != nullptr)
        races->access(p, n, is_write, is_atomic, __builtin_return_address(0));
}

/* ---- What tests ask. ---- */

static bool is_fault_expected;
static std::string first_fault, last_fault;

void report(const std::string &why)
{
    if (!is_fault_expected) {
        fflush(nullptr);
        fprintf(stderr, "emulate: %s\n", why.c_str());
        abort();
    }
    if (first_fault.empty())
        first_fault = why;
}
} // namespace emulate

void emulate_seed(uint64_t seed)
{
    emulate::seed = seed;
}

void emulate_expect_faults(bool is_expected)
{
    emulate::is_fault_expected = is_expected;
}

const char *emulate_fault(void)
{
    emulate::last_fault.swap(emulate::first_fault);
    emulate::first_fault.clear();
    return emulate::last_fault.c_str();
}

struct emulate_counts emulate_count(void)
{
    return emulate::counts;
}

bool emulate_finds_races(void)
{
    return emulate::races != nullptr;
}

#ifdef EMULATE_ASAN
/* Pointers on stacks of fibers are not seen, and would look like leaks. */
extern "C" const char *__asan_default_options()
{
    return "detect_leaks=0";
}
#endif
