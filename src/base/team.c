/* A team of threads, and the few other threads and locks of the house.
 *
 * A member waits for a word to change: it spins for SPIN_NS, which covers the gap between two
 * operations of a forward pass, then sleeps in the kernel (futex), so that a member whose core is
 * taken by a neighbour costs the others no core. `sleepers` counts who may sleep on a word: the one
 * who changes it makes the system call only when somebody does.
 *
 *   generation  changed by team_run, the workers wait for it
 *   n_left      counted down by the workers, rank 0 waits for 0
 *   phase       changed by the last member that reaches the barrier */
#include "base/team.h"
#include "base/mem.h"
#include "base/time.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPIN_NS    30000
#define SPIN_BURST 32 /* pauses between two looks at the clock */

struct word {
    _Alignas(64) _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
};

static void futex(struct word *word, int op, uint32_t value)
{
    syscall(SYS_futex, &word->value, op, value, NULL, NULL, 0);
}

/* Returns when the word is not `seen` any more. */
static void word_wait(struct word *word, uint32_t seen)
{
    for (int64_t end = time_now_ns() + SPIN_NS;;) {
        for (int i = 0; i < SPIN_BURST; i++) {
            if (atomic_load_explicit(&word->value, memory_order_acquire) != seen)
                return;
            base_relax();
        }
        if (time_now_ns() >= end)
            break;
    }
    atomic_fetch_add(&word->sleepers, 1);
    while (atomic_load(&word->value) == seen)
        futex(word, FUTEX_WAIT_PRIVATE, seen);
    atomic_fetch_sub(&word->sleepers, 1);
}

static void word_wake(struct word *word)
{
    if (atomic_load(&word->sleepers) > 0)
        futex(word, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

struct member {
    struct team *team;
    pthread_t thread;
    int rank;
};

struct team {
    int n;
    bool pin_caller, is_closing;
    int caller_core;
    void (*f)(void *arg, int rank, int n);
    void *arg;
    struct member *members;
    struct word generation, n_left, phase;
    _Alignas(64) _Atomic uint32_t arrived;
};

static void pin(pthread_t thread, int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    /* A core that we may not use (a container, an unplugged one) is no reason to stop. */
    (void)pthread_setaffinity_np(thread, sizeof(set), &set);
}

/* Starts a thread that leaves signals to the main thread. */
static pthread_t start(void *(*main)(void *), void *arg, const char *name)
{
    sigset_t blocked, old;
    pthread_t thread;
    sigfillset(&blocked);
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    int rc = pthread_create(&thread, NULL, main, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    CHECK(rc == 0);
    char cut[16];
    snprintf(cut, sizeof(cut), "%s", name);
    (void)pthread_setname_np(thread, cut);
    return thread;
}

static void *member_main(void *arg)
{
    struct member *member = arg;
    struct team *team = member->team;
    for (uint32_t seen = 0;; seen++) {
        word_wait(&team->generation, seen);
        if (team->is_closing)
            return NULL;
        team->f(team->arg, member->rank, team->n);
        if (atomic_fetch_sub(&team->n_left.value, 1) == 1)
            word_wake(&team->n_left);
    }
}

struct team *team_open(int n, const int *cores, bool pin_caller)
{
    CHECK(n > 0 && n <= 1024);
    struct team *team = mem_take(sizeof(*team));
    team->n = n;
    team->pin_caller = pin_caller && cores != NULL;
    team->caller_core = cores != NULL ? cores[0] : 0;
    team->members = mem_take((size_t)n * sizeof(*team->members));
    for (int rank = 1; rank < n; rank++) {
        struct member *member = &team->members[rank];
        char name[16];
        snprintf(name, sizeof(name), "team-%d", rank);
        *member = (struct member){ .team = team, .rank = rank };
        member->thread = start(member_main, member, name);
        if (cores != NULL)
            pin(member->thread, cores[rank]);
    }
    return team;
}

static void release(struct team *team)
{
    atomic_fetch_add(&team->generation.value, 1);
    word_wake(&team->generation);
}

void team_close(struct team *team)
{
    if (team == NULL)
        return;
    team->is_closing = true;
    release(team);
    for (int rank = 1; rank < team->n; rank++)
        pthread_join(team->members[rank].thread, NULL);
    mem_give(team->members);
    mem_give(team);
}

int team_size(const struct team *team)
{
    return team->n;
}

void team_run(struct team *team, void (*f)(void *arg, int rank, int n), void *arg)
{
    cpu_set_t old;
    bool is_pinned =
        team->pin_caller && pthread_getaffinity_np(pthread_self(), sizeof(old), &old) == 0;
    if (is_pinned)
        pin(pthread_self(), team->caller_core);
    team->f = f;
    team->arg = arg;
    if (team->n > 1) {
        atomic_store(&team->n_left.value, (uint32_t)team->n - 1);
        release(team);
    }
    f(arg, 0, team->n);
    for (;;) {
        uint32_t left = atomic_load_explicit(&team->n_left.value, memory_order_acquire);
        if (left == 0)
            break;
        word_wait(&team->n_left, left);
    }
    if (is_pinned)
        (void)pthread_setaffinity_np(pthread_self(), sizeof(old), &old);
}

void team_barrier(struct team *team, int rank)
{
    CHECK(rank >= 0 && rank < team->n);
    /* The phase can't change before this member has arrived, so it may be read first. */
    uint32_t phase = atomic_load_explicit(&team->phase.value, memory_order_relaxed);
    if (atomic_fetch_add(&team->arrived, 1) + 1 == (uint32_t)team->n) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_fetch_add(&team->phase.value, 1);
        word_wake(&team->phase);
    } else {
        word_wait(&team->phase, phase);
    }
}

struct thread {
    pthread_t thread;
    void (*f)(void *arg);
    void *arg;
};

static void *thread_main(void *arg)
{
    struct thread *thread = arg;
    thread->f(thread->arg);
    return NULL;
}

struct thread *thread_start(const char *name, void (*f)(void *arg), void *arg)
{
    struct thread *thread = mem_take(sizeof(*thread));
    thread->f = f;
    thread->arg = arg;
    thread->thread = start(thread_main, thread, name);
    return thread;
}

void thread_join(struct thread *thread)
{
    pthread_join(thread->thread, NULL);
    mem_give(thread);
}

struct lock {
    pthread_mutex_t mutex;
};

struct lock *lock_open(void)
{
    struct lock *lock = mem_take(sizeof(*lock));
    pthread_mutex_init(&lock->mutex, NULL);
    return lock;
}

void lock_close(struct lock *lock)
{
    if (lock == NULL)
        return;
    pthread_mutex_destroy(&lock->mutex);
    mem_give(lock);
}

void lock_take(struct lock *lock)
{
    int rc = pthread_mutex_lock(&lock->mutex);
    CHECK(rc == 0);
}

void lock_put(struct lock *lock)
{
    int rc = pthread_mutex_unlock(&lock->mutex);
    CHECK(rc == 0);
}
