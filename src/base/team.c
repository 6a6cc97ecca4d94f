/* A team of threads, and the few other threads and locks of the program.
 *
 * A member waits for a word to change. It first spins for SPIN_NS, which covers the gap between two
 * operations of a forward pass, then sleeps in the kernel (futex). So a member that lost its core
 * to another process costs the others no core. `sleepers` counts the members that may sleep on a
 * word, so that the thread that changes the word makes the system call only when one may sleep.
 *
 *   generation  changed by team_run, the workers wait for it
 *   n_left      counted down by the workers, rank 0 waits for 0
 *   phase       changed by the last member that reaches the barrier */
#include "base/team.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pace.h"
#include "base/time.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPIN_NS    30000
#define SPIN_BURST 32 /* pauses between two looks at the clock */

struct word {
    _Alignas(64) _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
};

static void futex(struct word *word, int op, uint32_t value, const struct timespec *timeout)
{
    syscall(SYS_futex, &word->value, op, value, timeout, NULL, 0);
}

/* Waits until the word differs from `seen`, at most until until_ns on the clock. */
static void word_wait(struct word *word, uint32_t seen, int64_t until_ns)
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
    while (atomic_load(&word->value) == seen) {
        if (until_ns == TIME_NEVER) {
            futex(word, FUTEX_WAIT_PRIVATE, seen, NULL);
            continue;
        }
        int64_t left_ns = until_ns - time_now_ns();
        if (left_ns <= 0)
            break;
        const struct timespec left = { left_ns / TIME_NS_PER_S, left_ns % TIME_NS_PER_S };
        futex(word, FUTEX_WAIT_PRIVATE, seen, &left);
    }
    atomic_fetch_sub(&word->sleepers, 1);
}

static void word_wake(struct word *word)
{
    if (atomic_load(&word->sleepers) > 0)
        futex(word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL);
}

struct member {
    struct team *team;
    pthread_t thread;
    int rank;
    _Alignas(64) _Atomic int32_t kernel_id; /* of its thread; rank 0's changes with the caller */
    _Atomic uint32_t n_reached;             /* barriers and ends of team_run, ever */
    int64_t on_core_ns; /* of its last run; the caller reads it after the member has ended */
};

struct team {
    int n;
    bool pin_caller, is_closing;
    int caller_core;
    void (*f)(void *arg, int rank, int n);
    void *arg;
    struct member *members; /* (n), rank 0 is the caller */
    struct word generation, n_left, phase;
    _Alignas(64) _Atomic uint32_t arrived;
    struct shrink { /* the caller's alone */
        bool is_on;
        int n_starved;          /* consecutive runs of all members that waited for cores */
        int n_alone, n_to_come; /* runs alone before all are tried again, and how many remain */
        int64_t told_ns, n_faults;
    } shrink;
    cpu_set_t cores; /* of all members */
};

static void pin(pthread_t thread, int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    /* A core that we may not use (a container, an unplugged one) is no reason to stop. */
    (void)pthread_setaffinity_np(thread, sizeof(set), &set);
}

/* Starts a thread that blocks signals, so that the main thread gets them. */
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
    if (rc != 0)
        base_refuse("the system starts no thread \"%s\": %s (ulimit -u or -v may be too small)",
                    name, strerror(rc));
    char cut[16];
    snprintf(cut, sizeof(cut), "%s", name);
    (void)pthread_setname_np(thread, cut);
    return thread;
}

/* ---- Slow members. A member that waits for the others for more than a second logs for which ranks
 * it waits, and the state of each. R means that the thread computes or waits for a core, S that it
 * sleeps (and was not woken). ---- */

/* Returns the kernel's letter for the state of one of our threads; ? when there is none. */
static char state_of(int32_t kernel_id)
{
    char path[64], text[256], state = '?';
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", kernel_id);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return state;
    const char *end = fgets(text, sizeof(text), file) != NULL ? strrchr(text, ')') : NULL;
    if (end != NULL && end[1] == ' ')
        state = end[2];
    fclose(file);
    return state;
}

static void tell_late(const struct team *team, int rank, uint32_t n_reached, int64_t waited_ns)
{
    char late[200] = "";
    size_t n = 0;
    for (int r = 0; r < team->n && n + 32 < sizeof(late); r++) {
        const struct member *member = &team->members[r];
        if (r == rank || (int32_t)(atomic_load(&member->n_reached) - n_reached) >= 0)
            continue;
        n += (size_t)snprintf(late + n, sizeof(late) - n, " %d (%c)", r,
                              state_of(atomic_load(&member->kernel_id)));
    }
    log_line(LOG_WARN, "team", "rank %d has waited %.1f s for rank%s%s", rank,
             (double)waited_ns / (double)TIME_NS_PER_S, late, n == 0 ? "s that are there now" : "");
}

/* Waits for members, however long it takes. It raises its own count before any other member can
 * wait for it. */
static void wait_for_members(struct team *team, int rank, struct word *word, uint32_t seen)
{
    int64_t begin_ns = time_now_ns();
    uint32_t n_reached = atomic_load(&team->members[rank].n_reached);
    while (atomic_load_explicit(&word->value, memory_order_acquire) == seen) {
        int64_t now_ns = time_now_ns();
        if (now_ns - begin_ns > PACE_SLOW_NS)
            tell_late(team, rank, n_reached, now_ns - begin_ns);
        word_wait(word, seen, now_ns + PACE_SLOW_NS + TIME_NS_PER_MS);
    }
}

static void reach(struct team *team, int rank)
{
    struct member *member = &team->members[rank];
    /* Only this thread writes it. */
    uint32_t n = atomic_load_explicit(&member->n_reached, memory_order_relaxed);
    atomic_store_explicit(&member->n_reached, n + 1, memory_order_relaxed);
}

static void *member_main(void *arg)
{
    struct member *member = arg;
    struct team *team = member->team;
    atomic_store(&member->kernel_id, (int32_t)syscall(SYS_gettid));
    for (uint32_t seen = 0;; seen++) {
        word_wait(&team->generation, seen, TIME_NEVER);
        if (team->is_closing)
            return NULL;
        int64_t begin_ns = team->shrink.is_on ? time_thread_cpu_ns() : 0;
        team->f(team->arg, member->rank, team->n);
        member->on_core_ns = team->shrink.is_on ? time_thread_cpu_ns() - begin_ns : 0;
        reach(team, member->rank);
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
    CPU_ZERO(&team->cores);
    for (int rank = 0; rank < n && cores != NULL; rank++)
        CPU_SET((size_t)cores[rank], &team->cores);
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

static void run_all(struct team *team, void (*f)(void *arg, int rank, int n), void *arg)
{
    cpu_set_t old;
    bool is_pinned =
        team->pin_caller && pthread_getaffinity_np(pthread_self(), sizeof(old), &old) == 0;
    if (is_pinned)
        pin(pthread_self(), team->caller_core);
    team->f = f;
    team->arg = arg;
    if (team->n > 1) {
        atomic_store_explicit(&team->members[0].kernel_id, (int32_t)syscall(SYS_gettid),
                              memory_order_relaxed);
        atomic_store(&team->n_left.value, (uint32_t)team->n - 1);
        release(team);
    }
    f(arg, 0, team->n);
    reach(team, 0);
    for (;;) {
        uint32_t left = atomic_load_explicit(&team->n_left.value, memory_order_acquire);
        if (left == 0)
            break;
        wait_for_members(team, 0, &team->n_left, left);
    }
    if (is_pinned)
        (void)pthread_setaffinity_np(pthread_self(), sizeof(old), &old);
}

/* ---- Shrinking. ----
 *
 * One member alone needs about the core time that all members need together, since the work does
 * not depend on their number. A run of all members that took a quarter longer was starved: other
 * work keeps a core, and the member on that core delays the rest at each barrier. After SHRINK_RUNS
 * such runs the caller works alone for a while, on whichever core is free, then tries again with
 * all. If that run is starved too, the while doubles. */
enum { SHRINK_RUNS = 3, ALONE_MIN = 16, ALONE_MAX = 256 };

void team_let_shrink(struct team *team)
{
    team->shrink.is_on = team->n > 1;
}

/* Returns whether a thread of this process has waited for a disk since the last call. */
static bool waited_for_disk(struct shrink *s)
{
    struct rusage usage;
    int64_t before = s->n_faults;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        s->n_faults = usage.ru_majflt;
    return s->n_faults != before;
}

static void note_run(struct team *team, int64_t wall_ns, int64_t on_core_ns)
{
    struct shrink *s = &team->shrink;
    bool is_starved = wall_ns > TIME_NS_PER_MS && wall_ns - wall_ns / 5 > on_core_ns;
    if (is_starved && waited_for_disk(s))
        return; /* as while weights are packed from a mapped file, when no core was lacking */
    s->n_starved = is_starved ? s->n_starved + 1 : 0;
    if (!is_starved) {
        s->n_alone = 0;
    } else if (s->n_starved >= SHRINK_RUNS || s->n_alone > 0) {
        s->n_alone = min_i32(max_i32(2 * s->n_alone, ALONE_MIN), ALONE_MAX);
        s->n_to_come = s->n_alone;
        int64_t now_ns = time_now_ns();
        if (s->told_ns == 0 || now_ns - s->told_ns > 60 * TIME_NS_PER_S) {
            log_line(LOG_WARN, "team", "other work keeps the cores: one thread computes for now");
            s->told_ns = now_ns;
        }
    }
}

static void run_alone(struct team *team, void (*f)(void *arg, int rank, int n), void *arg)
{
    cpu_set_t old;
    bool is_pinned = team->pin_caller &&
                     pthread_getaffinity_np(pthread_self(), sizeof(old), &old) == 0 &&
                     pthread_setaffinity_np(pthread_self(), sizeof(old), &team->cores) == 0;
    team->shrink.n_to_come--;
    f(arg, 0, 1);
    if (is_pinned)
        (void)pthread_setaffinity_np(pthread_self(), sizeof(old), &old);
}

void team_run(struct team *team, void (*f)(void *arg, int rank, int n), void *arg)
{
    if (team->shrink.n_to_come > 0) {
        run_alone(team, f, arg);
        return;
    }
    int64_t begin_ns = time_now_ns();
    int64_t on_core_ns = team->shrink.is_on ? time_thread_cpu_ns() : 0;
    run_all(team, f, arg);
    if (!team->shrink.is_on)
        return;
    on_core_ns = time_thread_cpu_ns() - on_core_ns;
    for (int rank = 1; rank < team->n; rank++)
        on_core_ns += team->members[rank].on_core_ns;
    note_run(team, time_now_ns() - begin_ns, on_core_ns);
}

void team_barrier(struct team *team, int rank)
{
    CHECK(rank >= 0 && rank < team->n);
    /* The phase can't change before this member has arrived, so it may be read first. */
    uint32_t phase = atomic_load_explicit(&team->phase.value, memory_order_relaxed);
    reach(team, rank);
    if (atomic_fetch_add(&team->arrived, 1) + 1 == (uint32_t)team->n) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_fetch_add(&team->phase.value, 1);
        word_wake(&team->phase);
    } else {
        wait_for_members(team, rank, &team->phase, phase);
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

void thread_give_way(void)
{
    enum { NICE = 5 };
    (void)setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone, on Linux */
}

/* A lock with tickets and a queue, so that it is first come, first served. (A mutex alone goes to
 * the thread that happens to ask when it is free. A loader that packs one matrix after the other
 * would then keep an engine waiting for seconds.) */
struct lock {
    pthread_mutex_t mutex;
    pthread_cond_t is_next;
    uint64_t next, serving;
};

struct lock *lock_open(void)
{
    struct lock *lock = mem_take(sizeof(*lock));
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->is_next, NULL);
    return lock;
}

void lock_close(struct lock *lock)
{
    if (lock == NULL)
        return;
    pthread_cond_destroy(&lock->is_next);
    pthread_mutex_destroy(&lock->mutex);
    mem_give(lock);
}

void lock_take(struct lock *lock)
{
    int rc = pthread_mutex_lock(&lock->mutex);
    CHECK(rc == 0);
    uint64_t ticket = lock->next++;
    while (lock->serving != ticket)
        pthread_cond_wait(&lock->is_next, &lock->mutex);
    pthread_mutex_unlock(&lock->mutex);
}

void lock_put(struct lock *lock)
{
    int rc = pthread_mutex_lock(&lock->mutex);
    CHECK(rc == 0 && lock->serving < lock->next);
    lock->serving++;
    pthread_cond_broadcast(&lock->is_next);
    pthread_mutex_unlock(&lock->mutex);
}
