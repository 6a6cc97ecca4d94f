/* Tests of the team, threads and locks. */
#include "test.h"
#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include <sched.h>

struct work {
    struct team *team;
    int calls[16]; /* by rank: each member writes its own */
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

/* Every member adds up what all wrote before the barrier, many times; a torn barrier gives a wrong
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rank_runs_once),  cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_sleeping_members_wake), cmocka_unit_test(test_pinning),
        cmocka_unit_test(test_threads_and_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
