/* Collectives against plain loops: random calls of random sizes on 1 to 8 ranks, which are threads
 * or processes. Then processes that end in each phase of a call, and ranks that disagree. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/time.h"
#include "compute/group.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { N_MAX = 40000, CALLS = 60 };
enum call { SUM, GATHER, SEND, N_CALLS };
enum ended { ENDED_WELL = 0, ENDED_WRONG = 1, ENDED_FAILED = 2 };

/* Returns the i-th value of rank r in a call. Sums of three or more such values depend on their
 * order. */
static float value_of(uint32_t call, int32_t r, int64_t i)
{
    uint32_t x = call * 2654435761u + (uint32_t)r * 40503u + (uint32_t)i * 2246822519u;
    x ^= x >> 13;
    x *= 3266489917u;
    return (float)(int32_t)x * (r % 3 == 0 ? 1e-3f : 1e3f);
}

struct buffers {
    float x[N_MAX], out[N_MAX * COMPUTE_GROUP_RANKS_MAX];
};

static bool check_sum(struct compute_group_rank *rank, uint32_t call, int64_t n, struct buffers *b)
{
    bool in_place = call % 2 == 0;
    float *out = in_place ? b->x : b->out;
    for (int64_t i = 0; i < n; i++)
        b->x[i] = value_of(call, rank->index, i);
    if (!compute_group_sum(rank, b->x, out, n))
        return true;
    for (int64_t i = 0; i < n; i++) {
        float sum = value_of(call, 0, i);
        for (int32_t r = 1; r < compute_group_size(rank->group); r++)
            sum += value_of(call, r, i);
        if (memcmp(&sum, &out[i], sizeof(sum)) != 0)
            return false;
    }
    return true;
}

static bool check_gather(struct compute_group_rank *rank, uint32_t call, const int64_t *n,
                         struct buffers *b)
{
    int64_t n_bytes[COMPUTE_GROUP_RANKS_MAX], at = 0;
    int32_t n_ranks = compute_group_size(rank->group);
    bool is_wanted = (call + (uint32_t)rank->index) % 4 != 0;
    for (int32_t r = 0; r < n_ranks; r++)
        n_bytes[r] = n[r] * (int64_t)sizeof(float);
    for (int64_t i = 0; i < n[rank->index]; i++)
        b->x[i] = value_of(call, rank->index, i);
    if (!compute_group_gather(rank, b->x, n_bytes, is_wanted ? b->out : NULL))
        return true;
    for (int32_t r = 0; r < n_ranks && is_wanted; at += n[r++])
        for (int64_t i = 0; i < n[r]; i++)
            if (b->out[at + i] != value_of(call, r, i))
                return false;
    return true;
}

/* Each rank sends to the next one and receives from the previous one. */
static bool check_send(struct compute_group_rank *rank, uint32_t call, int64_t n, struct buffers *b)
{
    int32_t n_ranks = compute_group_size(rank->group);
    int32_t before = (rank->index + n_ranks - 1) % n_ranks;
    for (int64_t i = 0; i < n; i++)
        b->x[i] = value_of(call, rank->index, i);
    if (!compute_group_send(rank, b->x, n * (int64_t)sizeof(float)) ||
        !compute_group_receive(rank, b->out, n * (int64_t)sizeof(float)))
        return true;
    for (int64_t i = 0; i < n; i++)
        if (b->out[i] != value_of(call, before, i))
            return false;
    return true;
}

/* Makes n_calls random calls, the same ones on every rank, and checks each result. */
static enum ended run_calls(struct compute_group *group, int32_t index, uint32_t seed,
                            uint32_t n_calls)
{
    struct compute_group_rank rank;
    struct buffers *b = mem_take(sizeof(*b));
    struct rng rng;
    bool is_right = true;
    compute_group_rank_init(&rank, group, index);
    rng_init(&rng, seed, 0);
    for (uint32_t call = 0; call < n_calls && is_right && !compute_group_has_failed(group);
         call++) {
        int64_t n[COMPUTE_GROUP_RANKS_MAX];
        enum call kind = (enum call)rng_below(&rng, N_CALLS);
        uint32_t longest = rng_below(&rng, 3) == 0 ? N_MAX : 300;
        for (int32_t r = 0; r < COMPUTE_GROUP_RANKS_MAX; r++)
            n[r] = rng_below(&rng, longest + 1);
        is_right = kind == SUM      ? check_sum(&rank, call, n[0], b)
                   : kind == GATHER ? check_gather(&rank, call, n, b)
                                    : check_send(&rank, call, n[0], b);
    }
    compute_group_rank_free(&rank);
    mem_give(b);
    return !is_right ? ENDED_WRONG : compute_group_has_failed(group) ? ENDED_FAILED : ENDED_WELL;
}

struct one { /* rank of a thread */
    struct compute_group *group;
    int32_t index;
    uint32_t seed;
    enum ended ended;
};

static void run_thread(void *arg)
{
    struct one *one = arg;
    one->ended = run_calls(one->group, one->index, one->seed, CALLS);
}

static void threads_compute_what_loops_do(void **state)
{
    (void)state;
    for (int32_t n = 1; n <= COMPUTE_GROUP_RANKS_MAX; n++) {
        struct compute_group group;
        struct fault fault;
        struct one ones[COMPUTE_GROUP_RANKS_MAX];
        struct thread *threads[COMPUTE_GROUP_RANKS_MAX];
        uint32_t seed = (uint32_t)test_seed(81) + (uint32_t)n;
        assert_int_equal(compute_group_open(&group, n, &fault), STATUS_OK);
        for (int32_t r = 0; r < n; r++) {
            ones[r] = (struct one){ &group, r, seed, ENDED_WRONG };
            threads[r] = thread_start("rank", run_thread, &ones[r]);
        }
        for (int32_t r = 0; r < n; r++)
            thread_join(threads[r]);
        for (int32_t r = 0; r < n; r++)
            assert_int_equal(ones[r].ended, ENDED_WELL);
        compute_group_close(&group);
    }
}

/* Starts a process for a rank. It joins the segment by its descriptor, so at another address. */
static pid_t start_rank(const struct compute_group *group, int32_t index, uint32_t seed,
                        uint32_t n_calls)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    struct compute_group own;
    struct fault fault;
    alarm(60);
    if (compute_group_join(&own, dup(group->fd), &fault) != STATUS_OK)
        _exit(ENDED_WRONG);
    _exit(run_calls(&own, index, seed, n_calls));
}

static int wait_rank(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void processes_compute_what_loops_do(void **state)
{
    (void)state;
    for (int32_t n = 1; n <= COMPUTE_GROUP_RANKS_MAX; n++) {
        struct compute_group group;
        struct fault fault;
        pid_t pids[COMPUTE_GROUP_RANKS_MAX];
        assert_int_equal(compute_group_open(&group, n, &fault), STATUS_OK);
        for (int32_t r = 0; r < n; r++)
            pids[r] = start_rank(&group, r, (uint32_t)test_seed(82) + (uint32_t)n, CALLS);
        for (int32_t r = 0; r < n; r++)
            assert_int_equal(wait_rank(pids[r]), ENDED_WELL);
        compute_group_close(&group);
    }
}

/* Kills one of the processes at random times. All others see it, and no result before was wrong.
 * The victim stays a zombie until they have ended, as it does under a parent that is slow. */
static void death_at_any_time_ends_all_ranks(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(83), 0);
    for (int trial = 0; trial < 12; trial++) {
        struct compute_group group;
        struct fault fault;
        pid_t pids[COMPUTE_GROUP_RANKS_MAX];
        int32_t n = 2 + trial % 3, victim = (int32_t)rng_below(&rng, (uint32_t)n);
        assert_int_equal(compute_group_open(&group, n, &fault), STATUS_OK);
        for (int32_t r = 0; r < n; r++)
            pids[r] = start_rank(&group, r, (uint32_t)trial, UINT32_MAX);
        usleep(20000 + rng_below(&rng, 30000));
        kill(pids[victim], SIGKILL);
        for (int32_t r = 0; r < n; r++)
            if (r != victim)
                assert_int_equal(wait_rank(pids[r]), ENDED_FAILED);
        assert_int_equal(wait_rank(pids[victim]), -1);
        assert_true(compute_group_has_failed(&group));
        compute_group_close(&group);
    }
}

/* ---- Death in a given phase: rank 1 is a process that stops there and is killed. ---- */

enum phase {
    BEFORE_SUM,
    INSIDE_SUM, /* it has announced its values and waits for rank 0 */
    INSIDE_GATHER,
    INSIDE_SEND, /* the ring is full */
    INSIDE_RECEIVE,
    N_PHASES
};

static void stop_in(struct compute_group *group, enum phase phase)
{
    static float x[COMPUTE_GROUP_SLOT_BYTES];
    const int64_t sizes[2] = { 16, 16 };
    struct compute_group_rank rank;
    compute_group_rank_init(&rank, group, 1);
    bool is_alive = compute_group_sum(&rank, x, x, 4);
    if (phase == INSIDE_SUM)
        is_alive = compute_group_sum(&rank, x, x, 4);
    else if (phase == INSIDE_GATHER)
        is_alive = compute_group_gather(&rank, x, sizes, x + 8);
    else if (phase == INSIDE_RECEIVE)
        is_alive = compute_group_receive(&rank, x, 16);
    for (int i = 0; phase == INSIDE_SEND && is_alive; i++)
        is_alive = compute_group_send(&rank, x, COMPUTE_GROUP_SLOT_BYTES);
    while (is_alive)
        pause();
    _exit(ENDED_FAILED);
}

/* Makes the calls of rank 0 that answer those of rank 1 until one fails. */
static bool fails_soon(struct compute_group_rank *rank, enum phase phase)
{
    static float x[COMPUTE_GROUP_SLOT_BYTES];
    const int64_t sizes[2] = { 16, 16 };
    int64_t begun_ns = time_now_ns();
    bool is_alive = true;
    for (int i = 0; i <= COMPUTE_GROUP_RING_PIECES && is_alive; i++)
        is_alive = phase == INSIDE_GATHER    ? compute_group_gather(rank, x, sizes, x + 8)
                   : phase == INSIDE_SEND    ? compute_group_receive(rank, x, 65536)
                   : phase == INSIDE_RECEIVE ? compute_group_send(rank, x, 16)
                                             : compute_group_sum(rank, x, x, 4);
    /* The machine may be busy, so the bound of the test is wider than the promised one. */
    return !is_alive && time_now_ns() - begun_ns < 20 * COMPUTE_GROUP_NOTICE_NS;
}

static void death_in_each_phase_is_noticed(void **state)
{
    (void)state;
    for (int phase = 0; phase < N_PHASES; phase++) {
        struct compute_group group;
        struct compute_group_rank rank;
        struct fault fault;
        float x[4] = { 1, 2, 3, 4 };
        assert_int_equal(compute_group_open(&group, 2, &fault), STATUS_OK);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            stop_in(&group, (enum phase)phase);
        compute_group_rank_init(&rank, &group, 0);
        assert_true(compute_group_sum(&rank, x, x, 4));
        usleep(30000); /* by now it sleeps in its phase */
        kill(pid, SIGKILL);
        assert_true(fails_soon(&rank, (enum phase)phase));
        assert_int_equal(wait_rank(pid), -1);
        compute_group_rank_free(&rank);
        compute_group_close(&group);
    }
}

static void sum_until_failure(void *arg)
{
    struct one *one = arg;
    struct compute_group_rank rank;
    float x = 1;
    compute_group_rank_init(&rank, one->group, one->index);
    one->ended = compute_group_sum(&rank, &x, &x, 1) ? ENDED_WELL : ENDED_FAILED;
    compute_group_rank_free(&rank);
}

/* A parent's message reaches ranks that wait for one that never began. */
static void the_parent_wakes_waiting_ranks(void **state)
{
    struct compute_group group;
    struct fault fault;
    (void)state;
    assert_int_equal(compute_group_open(&group, 3, &fault), STATUS_OK);
    struct one ones[2] = { { &group, 0, 0, ENDED_WELL }, { &group, 2, 0, ENDED_WELL } };
    struct thread *a = thread_start("rank", sum_until_failure, &ones[0]);
    struct thread *b = thread_start("rank", sum_until_failure, &ones[1]);
    usleep(5000);
    compute_group_fail(&group);
    thread_join(a);
    thread_join(b);
    assert_int_equal(ones[0].ended, ENDED_FAILED);
    assert_int_equal(ones[1].ended, ENDED_FAILED);
    compute_group_close(&group);
}

static void sum_two(void *arg)
{
    struct one *one = arg;
    struct compute_group_rank rank;
    float x[2] = { 1, 2 };
    compute_group_rank_init(&rank, one->group, one->index);
    one->ended = compute_group_sum(&rank, x, x, 2) ? ENDED_WELL : ENDED_FAILED;
    compute_group_rank_free(&rank);
}

static void different_sizes_fail_on_every_rank(void **state)
{
    struct compute_group group;
    struct fault fault;
    (void)state;
    assert_int_equal(compute_group_open(&group, 2, &fault), STATUS_OK);
    struct one ones[2] = { { &group, 0, 0, ENDED_WELL }, { &group, 1, 0, ENDED_WELL } };
    struct thread *a = thread_start("rank", sum_until_failure, &ones[0]);
    struct thread *b = thread_start("rank", sum_two, &ones[1]);
    thread_join(a);
    thread_join(b);
    assert_int_equal(ones[0].ended, ENDED_FAILED);
    assert_int_equal(ones[1].ended, ENDED_FAILED);
    compute_group_close(&group);
}

static void refuses_what_is_no_group(void **state)
{
    struct compute_group group;
    struct fault fault;
    (void)state;
    assert_int_equal(compute_group_open(&group, 0, &fault), STATUS_BAD_INPUT);
    assert_int_equal(compute_group_open(&group, COMPUTE_GROUP_RANKS_MAX + 1, &fault),
                     STATUS_BAD_INPUT);
    assert_int_equal(compute_group_join(&group, -1, &fault), STATUS_BAD_INPUT);
    int fd = memfd_create("no-group", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    assert_int_equal(compute_group_join(&group, fd, &fault), STATUS_BAD_INPUT);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was taken over */
    assert_int_equal(compute_group_open(&group, 3, &fault), STATUS_OK);
    struct compute_group other;
    assert_int_equal(compute_group_join(&other, dup(group.fd), &fault), STATUS_OK);
    assert_int_equal(compute_group_size(&other), 3);
    compute_group_close(&other);
    compute_group_close(&group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_compute_what_loops_do),
        cmocka_unit_test(processes_compute_what_loops_do),
        cmocka_unit_test(death_at_any_time_ends_all_ranks),
        cmocka_unit_test(death_in_each_phase_is_noticed),
        cmocka_unit_test(the_parent_wakes_waiting_ranks),
        cmocka_unit_test(different_sizes_fail_on_every_rank),
        cmocka_unit_test(refuses_what_is_no_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
