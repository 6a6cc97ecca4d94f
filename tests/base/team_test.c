/* Tests of the team, threads and locks. */
#include "test.h"
#include "base/mem.h"
#include "base/pace.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/time.h"
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct work {
    struct team *team;
    int calls[16]; /* by rank, since each member writes its own */
    int sums[2][16];
    struct lock *lock;
    int total;
};

static void mark(void *arg, int rank, int n)
{
    struct work *work = arg;
    CHECK(n == team_size(work->team));
    work->calls[rank]++;
}

static void test_every_rank_runs_once(void **state)
{
    (void)state;
    for (int n = 1; n <= 8; n++) {
        struct work work = { .team = team_open(n, NULL, false) };
        for (int round = 0; round < 200; round++)
            team_run(work.team, mark, &work);
        for (int rank = 0; rank < 16; rank++)
            assert_int_equal(work.calls[rank], rank < n ? 200 : 0);
        team_close(work.team);
    }
    team_close(NULL);
}

/* Every member adds up what all wrote before the barrier, many times. A torn barrier gives a wrong
 * sum. */
static void exchange(void *arg, int rank, int n)
{
    struct work *work = arg;
    for (int round = 0; round < 300; round++) {
        int *sums = work->sums[round % 2];
        sums[rank] = round + rank;
        team_barrier(work->team, rank);
        int sum = 0;
        for (int i = 0; i < n; i++)
            sum += sums[i];
        if (sum == n * round + n * (n - 1) / 2)
            work->calls[rank]++;
    }
}

static void test_barrier(void **state)
{
    (void)state;
    for (int n = 1; n <= 6; n++) { /* also more members than cores */
        struct work work = { .team = team_open(n, NULL, false) };
        team_run(work.team, exchange, &work);
        for (int rank = 0; rank < n; rank++)
            assert_int_equal(work.calls[rank], 300);
        team_close(work.team);
    }
}

static void test_sleeping_members_wake(void **state)
{
    (void)state;
    struct work work = { .team = team_open(3, NULL, false) };
    for (int round = 0; round < 5; round++) {
        time_sleep_ns(2 * TIME_NS_PER_MS); /* longer than they spin */
        team_run(work.team, mark, &work);
    }
    assert_int_equal(work.calls[2], 5);
    team_close(work.team);
}

/* Random pauses before and after every barrier, with more members than cores. A sleeping member is
 * woken however the pauses fall between a check and a sleep. */
struct restless {
    struct team *team;
    uint64_t seed;
    int n_rounds;
    _Atomic int n_met;
};

static void pause_a_while(struct rng *rng)
{
    uint64_t kind = rng_u64(rng) % 16;
    int64_t end_ns = time_now_ns() + (int64_t)(rng_u64(rng) % 60000);
    if (kind == 0) /* as long as a member spins, and a little more or less */
        time_sleep_ns((int64_t)(rng_u64(rng) % 100000));
    else if (kind < 6)
        while (time_now_ns() < end_ns)
            base_relax();
    else if (kind < 8)
        sched_yield();
}

static void meet_and_pause(void *arg, int rank, int n)
{
    struct restless *work = arg;
    struct rng rng;
    rng_init(&rng, work->seed, (uint64_t)rank);
    for (int round = 0; round < work->n_rounds; round++) {
        pause_a_while(&rng);
        atomic_fetch_add(&work->n_met, 1);
        team_barrier(work->team, rank);
        CHECK(atomic_load(&work->n_met) >= n * (round + 1));
    }
}

static void test_nobody_is_left_asleep(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++) {
        struct restless work = { .team = team_open(n, NULL, false), .n_rounds = 5 };
        struct rng rng;
        rng_init(&rng, 7, (uint64_t)n);
        for (int run = 0; run < 200; run++) {
            work.seed = rng_u64(&rng);
            atomic_store(&work.n_met, 0);
            team_run(work.team, meet_and_pause, &work);
            assert_int_equal(atomic_load(&work.n_met), 5 * n);
            pause_a_while(&rng);
        }
        team_close(work.team);
    }
}

static void read_core(void *arg, int rank, int n)
{
    (void)n;
    ((int *)arg)[rank] = sched_getcpu();
}

static void test_pinning(void **state)
{
    (void)state;
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    int core = 0;
    while (!CPU_ISSET((size_t)core, &before))
        core++;
    int cores[2] = { core, core }, seen[2] = { -1, -1 };
    struct team *team = team_open(2, cores, true);
    team_run(team, read_core, seen);
    team_close(team);
    assert_int_equal(seen[0], core);
    assert_int_equal(seen[1], core);
    assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

static void be_late(void *arg, int rank, int n)
{
    (void)n;
    if (rank == 1)
        time_sleep_ns(PACE_SLOW_NS + 500 * TIME_NS_PER_MS);
    team_barrier(arg, rank);
}

/* A member that waits for long logs for which rank, and that this rank sleeps. */
static void test_a_late_member_is_named(void **state)
{
    (void)state;
    char text[4096];
    int pipe_fds[2], old = dup(STDERR_FILENO);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_true(dup2(pipe_fds[1], STDERR_FILENO) >= 0);
    struct team *team = team_open(3, NULL, false);
    team_run(team, be_late, team);
    team_close(team);
    assert_true(dup2(old, STDERR_FILENO) >= 0);
    close(old);
    close(pipe_fds[1]);
    ssize_t n = read(pipe_fds[0], text, sizeof(text) - 1);
    close(pipe_fds[0]);
    text[max_i64(n, 0)] = '\0';
    assert_non_null(strstr(text, "rank 0 has waited 1."));
    assert_non_null(strstr(text, "rank 2 has waited 1."));
    assert_non_null(strstr(text, "for rank 1 (S)"));
}

struct greedy {
    struct lock *lock;
    _Atomic bool is_over;
    int n_taken;
};

static void take_again_and_again(void *arg)
{
    struct greedy *greedy = arg;
    while (!atomic_load(&greedy->is_over)) {
        lock_take(greedy->lock);
        greedy->n_taken++;
        time_sleep_ns(TIME_NS_PER_MS);
        lock_put(greedy->lock);
    }
}

/* A thread that waits for a lock gets it before the thread that just released it. */
static void test_a_lock_is_fair(void **state)
{
    (void)state;
    struct greedy greedy = { .lock = lock_open() };
    struct thread *thread = thread_start("greedy", take_again_and_again, &greedy);
    int n_before = 0, n_quick = 0;
    for (int i = 0; i < 50; i++) {
        lock_take(greedy.lock);
        n_quick += greedy.n_taken - n_before <= 2;
        n_before = greedy.n_taken;
        time_sleep_ns(2 * TIME_NS_PER_MS); /* long enough for the other to queue again */
        lock_put(greedy.lock);
    }
    atomic_store(&greedy.is_over, true);
    thread_join(thread);
    assert_true(n_quick >= 25); /* all, except for a thread that had no core before it asked */
    lock_close(greedy.lock);
}

struct starving {
    int64_t pause_ns;   /* of rank 1 */
    int n_alone, n_all; /* runs */
};

static void starve(void *arg, int rank, int n)
{
    struct starving *work = arg;
    if (rank == 1)
        time_sleep_ns(work->pause_ns);
    if (rank == 0)
        *(n == 1 ? &work->n_alone : &work->n_all) += 1;
}

/* One member works alone as long as waiting for the others would take much longer; then all work
 * again. */
static void test_a_starved_team_shrinks(void **state)
{
    (void)state;
    struct starving work = { .pause_ns = 20 * TIME_NS_PER_MS };
    struct team *team = team_open(2, NULL, false);
    for (int i = 0; i < 10; i++)
        team_run(team, starve, &work);
    assert_int_equal(work.n_alone, 0); /* not unless it may */
    team_let_shrink(team);
    work.n_all = 0;
    for (int i = 0; i < 300; i++)
        team_run(team, starve, &work);
    assert_true(work.n_alone >= 250 && work.n_all >= 5 && work.n_alone + work.n_all == 300);
    work = (struct starving){ 0 };
    for (int i = 0; i < 100000 && work.n_all < 1000; i++)
        team_run(team, starve, &work);
    assert_true(work.n_all >= 1000);
    team_close(team);
}

static void add_many(void *arg)
{
    struct work *work = arg;
    for (int i = 0; i < 10000; i++) {
        lock_take(work->lock);
        work->total++;
        lock_put(work->lock);
    }
}

static void test_threads_and_locks(void **state)
{
    (void)state;
    struct work work = { .lock = lock_open() };
    struct thread *a = thread_start("a", add_many, &work);
    struct thread *b = thread_start("a name that is much too long", add_many, &work);
    thread_join(a);
    thread_join(b);
    assert_int_equal(work.total, 20000);
    lock_close(work.lock);
    lock_close(NULL);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void nothing_in_a_team(void *arg, int rank, int n)
{
    (void)arg, (void)rank, (void)n;
}

/* The limit of processes does not hold for root. */
static void allow_no_thread(void)
{
    const struct rlimit none = { 0, 0 };
    if ((geteuid() == 0 && setuid(65534) != 0) || setrlimit(RLIMIT_NPROC, &none) != 0)
        _exit(3);
}

static void start_a_thread(void *arg)
{
    (void)arg;
    allow_no_thread();
    thread_join(thread_start("late", nothing, NULL));
}

static void open_a_team(void *arg)
{
    (void)arg;
    allow_no_thread();
    struct team *team = team_open(2, NULL, false);
    team_run(team, nothing_in_a_team, NULL);
    team_close(team);
}

static void test_no_thread_is_a_sentence(void **state)
{
    (void)state;
    test_refuses(start_a_thread, NULL, "the system starts no thread \"late\": ");
    test_refuses(open_a_team, NULL, "the system starts no thread \"team-1\": ");
}

static void give_way(void *arg)
{
    thread_give_way();
    *(int *)arg = getpriority(PRIO_PROCESS, 0);
}

static void test_a_thread_gives_way_alone(void **state)
{
    int before = getpriority(PRIO_PROCESS, 0), its = 0;
    (void)state;
    thread_join(thread_start("humble", give_way, &its));
    assert_true(its > before || before >= 5);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rank_runs_once),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_sleeping_members_wake),
        cmocka_unit_test(test_pinning),
        cmocka_unit_test(test_threads_and_locks),
        cmocka_unit_test(test_nobody_is_left_asleep),
        cmocka_unit_test(test_a_late_member_is_named),
        cmocka_unit_test(test_a_starved_team_shrinks),
        cmocka_unit_test(test_a_lock_is_fair),
        cmocka_unit_test(test_no_thread_is_a_sentence),
        cmocka_unit_test(test_a_thread_gives_way_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
