/* Prefixes that go to disk and come back: answers are the same with and without, whatever happens
 * to the files, to the disk, to the requests and to the process. The fake executor's tokens depend
 * on the content of every block (fake.h), so a wrong block shows. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "kv/disk_file.h"
#include "world.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

static struct world w;
static char path[64];
static struct engine_report report;

/* ---- Faults of the disk, in its thread. ---- */

enum kv_disk_result __real_kv_disk_file_read(const struct kv_disk_folder *folder,
                                             const struct kv_disk_file *file, void *bytes);
enum kv_disk_result __real_kv_disk_file_write(const struct kv_disk_folder *folder,
                                              const struct kv_disk_file *file, const void *bytes);
static _Atomic bool is_stuck;        /* the disk answers nothing */
static _Atomic int n_stuck;          /* calls that wait for it */
static _Atomic int result_of_writes; /* enum kv_disk_result; DONE: as the disk says */
static _Atomic int result_of_reads;

static void wait_for_disk(void)
{
    n_stuck++;
    while (is_stuck)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    n_stuck--;
}

enum kv_disk_result __wrap_kv_disk_file_read(const struct kv_disk_folder *folder,
                                             const struct kv_disk_file *file, void *bytes)
{
    wait_for_disk();
    if (result_of_reads != KV_DISK_DONE)
        return (enum kv_disk_result)result_of_reads;
    return __real_kv_disk_file_read(folder, file, bytes);
}

enum kv_disk_result __wrap_kv_disk_file_write(const struct kv_disk_folder *folder,
                                              const struct kv_disk_file *file, const void *bytes)
{
    wait_for_disk();
    if (result_of_writes != KV_DISK_DONE)
        return (enum kv_disk_result)result_of_writes;
    return __real_kv_disk_file_write(folder, file, bytes);
}

/* ---- The scene. ---- */

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/shoal-engine-disk-XXXXXX");
    assert_non_null(mkdtemp(path));
    is_stuck = false;
    result_of_writes = result_of_reads = KV_DISK_DONE;
    return 0;
}

static int tear_down(void **state)
{
    char text[128];
    (void)state;
    snprintf(text, sizeof text, "rm -rf %s", path);
    return system(text);
}

static void open_world(int64_t pool_bytes, int64_t swap_bytes, int64_t disk_bytes)
{
    struct world_options o;
    world_options_init(&o);
    o.pool_bytes = pool_bytes;
    o.swap_bytes = swap_bytes;
    o.kv_disk = path;
    o.kv_disk_bytes = disk_bytes;
    world_open(&w, &o);
}

/* Calls f for each file of a block. */
static void each_file(void (*f)(const char *file))
{
    char text[512];
    snprintf(text, sizeof text, "%s/engine-0", path);
    DIR *files = opendir(text);
    for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (strlen(entry->d_name) != 35)
            continue;
        snprintf(text, sizeof text, "%s/engine-0/%s", path, entry->d_name);
        f(text);
    }
    closedir(files);
}

static int64_t n_file_bytes;

static void add_bytes(const char *file)
{
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    n_file_bytes += max_i64(div_up_i64(info.st_size, 4096), 1) * 4096;
}

/* Waits until the tier knows all files of an earlier engine. */
static void wait_for_list(void)
{
    for (int i = 0; i < 5000; i++) {
        n_file_bytes = 0;
        each_file(add_bytes);
        memset(&report, 0, sizeof report);
        engine_report(w.engine, &report, w.clock_ns);
        if (report.disk_bytes == n_file_bytes)
            return;
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    fail_msg("%lld bytes of %lld are listed", (long long)report.disk_bytes,
             (long long)n_file_bytes);
}

static void open_usual(void)
{
    open_world(1 << 20, 1 << 18, 1 << 24);
    wait_for_list();
}

static void ask(uint32_t index, uint64_t seed, int32_t n_shared)
{
    assert_true(world_submit(&w, &(struct world_ask){ .index = index,
                                                      .n_prompt = n_shared + 9,
                                                      .n_new = 20,
                                                      .prompt_seed = seed,
                                                      .n_shared = n_shared }));
}

static void close_world(void)
{
    world_finish(&w);
    world_run(&w, w.clock_ns); /* writes are taken back */
    memset(&report, 0, sizeof report);
    engine_report(w.engine, &report, w.clock_ns);
    world_close(&w); /* which has compared the tokens */
}

/* Serves three prefixes, one after the other, in an engine of its own. */
static void serve_three(void)
{
    open_usual();
    for (uint32_t i = 0; i < 3; i++) {
        ask(i, i, 100);
        world_finish(&w);
    }
    close_world();
}

static void a_prefix_comes_back_after_a_restart(void **state)
{
    (void)state;
    serve_three();
    int64_t n_written = report.n_disk_written;
    assert_true(n_written > 0 && report.services[0].n_disk_tokens == 0);
    serve_three();
    int32_t n_tokens = (int32_t)report.services[0].n_disk_tokens;
    assert_true(n_tokens >= 3 * 96 && report.n_disk_read > 0 && report.n_disk_written == 0);
    assert_int_equal(w.n_hit_tokens, n_tokens); /* clients are told */
    assert_int_equal(report.services[0].n_disk_lost + report.n_disk_dropped, 0);
}

/* What memory has is not read again. */
static void memory_comes_first(void **state)
{
    (void)state;
    open_usual();
    ask(0, 5, 100);
    world_finish(&w);
    for (uint32_t i = 1; i < 4; i++)
        ask(i, 5, 100);
    close_world();
    assert_int_equal(report.services[0].n_disk_tokens, 0);
    assert_true(w.n_hit_tokens > 0);
}

/* The model's blocks leave memory with it, and come back from disk. */
static void a_prefix_outlives_a_model_in_memory(void **state)
{
    struct engine_room room;
    const struct perf perf = { .floor_ps = 1000, .prefill_scale = 1, .decode_scale = 1 };
    (void)state;
    open_usual();
    ask(0, 6, 100);
    world_finish(&w);
    while (!engine_close_service(w.engine, 0, w.clock_ns))
        world_step(&w);
    while (!engine_make_room(w.engine, 0, 1000, 1000, w.clock_ns, &room))
        world_step(&w);
    engine_open_service(w.engine, 0, &perf, w.clock_ns);
    ask(1, 6, 100);
    close_world();
    assert_true(report.services[0].n_disk_tokens >= 96);
}

static void remove_it(const char *file)
{
    assert_int_equal(unlink(file), 0);
}

static uint32_t n_changed;

static void change_one_bit(const char *file)
{
    struct stat info;
    unsigned char byte;
    int fd = open(file, O_RDWR);
    assert_int_equal(fstat(fd, &info), 0);
    off_t at = (off_t)(rng_at(9, 0, n_changed) % (uint64_t)info.st_size);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= (unsigned char)(1u << n_changed++ % 8);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void cut(const char *file)
{
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(truncate(file, (off_t)(rng_at(9, 1, n_changed++) % (uint64_t)info.st_size)),
                     0);
}

static void empty(const char *file)
{
    assert_int_equal(truncate(file, 0), 0);
}

static void damaged_files_are_dropped(void **state)
{
    void (*const damages[])(const char *) = { change_one_bit, cut, empty };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        serve_three();
        each_file(damages[i]);
        serve_three();
        assert_int_equal(report.services[0].n_disk_tokens, 0);
        assert_int_equal(report.services[0].n_disk_lost, 3);
        assert_int_equal(report.n_disk_dropped, 3);
        assert_true(report.n_disk_written > 0); /* those are kept again */
        each_file(remove_it);
    }
}

static void files_may_vanish(void **state)
{
    (void)state;
    serve_three();
    open_usual();
    each_file(remove_it);
    ask(0, 0, 100);
    close_world();
    assert_int_equal(report.services[0].n_disk_tokens, 0);
}

static void a_disk_that_fails_is_only_slower(void **state)
{
    static const enum kv_disk_result results[] = { KV_DISK_FULL, KV_DISK_FAILED };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        result_of_writes = results[i];
        serve_three();
        assert_true(report.n_disk_failed > 0 && report.n_disk_written == 0);
        result_of_writes = KV_DISK_DONE;
        serve_three();
        assert_true(report.n_disk_written > 0);
        result_of_reads = KV_DISK_FAILED;
        serve_three();
        assert_true(report.n_disk_failed > 0 && report.services[0].n_disk_tokens == 0);
        result_of_reads = KV_DISK_DONE;
        each_file(remove_it);
    }
}

/* A request waits for a disk that hangs for a bounded time, and the disk may still write into the
 * memory that it was given. */
static void a_disk_that_hangs_is_left_behind(void **state)
{
    (void)state;
    serve_three();
    open_usual();
    w.options.is_disk_slow = true;
    is_stuck = true;
    int64_t begin_ns = w.clock_ns;
    for (uint32_t i = 0; i < 3; i++)
        ask(i, i, 100);
    world_cancel(&w, 2); /* while it arrives */
    world_finish(&w);
    assert_true(w.clock_ns - begin_ns > TIME_NS_PER_S && w.clock_ns - begin_ns < 3 * TIME_NS_PER_S);
    assert_true(engine_lends_host(w.engine));
    is_stuck = false;
    w.options.is_disk_slow = false;
    world_step(&w);
    close_world();
    assert_int_equal(report.services[0].n_disk_tokens, 0);
    assert_int_equal(report.services[0].n_disk_lost, 2);
}

/* An engine ends while its disk is at work. */
static void an_engine_ends_with_work_in_flight(void **state)
{
    (void)state;
    serve_three();
    open_usual();
    w.options.is_disk_slow = true;
    is_stuck = true;
    ask(0, 0, 100);
    ask(1, 77, 100);
    world_finish(&w);
    while (n_stuck == 0)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    is_stuck = false;
    world_close(&w);
}

/* A returned or cancelled request gives all back, at any moment. */
static void requests_may_end_at_any_moment(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct rng rng;
        rng_init(&rng, test_seed(40) + seed, 0);
        open_world(seed % 3 == 0 ? 6000 : 1 << 20, seed % 4 == 0 ? 3000 : 1 << 16, 1 << 17);
        w.options.is_disk_slow = seed % 2 == 0;
        if (seed % 5 == 0)
            w.deaf_one = 3;
        for (uint32_t i = 0; i < 24; i++) {
            ask(i, rng_below(&rng, 6), 20 + 16 * (int32_t)rng_below(&rng, 5));
            world_run(&w, w.clock_ns + rng_below(&rng, 8000000));
            if (rng_below(&rng, 4) == 0)
                world_cancel(&w, rng_below(&rng, i + 1));
        }
        world_finish(&w);
        w.options.is_disk_slow = false;
        world_step(&w);
        close_world();
    }
}

/* A process that is killed at any moment leaves files that the next one can use, or notices. */
static void a_killed_process_leaves_no_wrong_block(void **state)
{
    int64_t n_tokens = 0;
    (void)state;
    for (int i = 0; i < 12; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            for (;;)
                serve_three();
        }
        (void)nanosleep(&(struct timespec){ .tv_nsec = 3000000 + 2000000 * (i % 7) }, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        serve_three();
        assert_int_equal(report.n_disk_dropped, 0); /* a block has its name only when it is whole */
        n_tokens += report.services[0].n_disk_tokens;
        if (i % 3 == 2)
            each_file(remove_it);
    }
    assert_true(n_tokens > 0);
}

/* The tier's files never have more bytes than it may. */
static void the_bound_holds(void **state)
{
    (void)state;
    open_world(1 << 20, 1 << 18, 40 * 4096);
    for (uint32_t i = 0; i < 20; i++) {
        ask(i, i, 100);
        world_finish(&w);
        memset(&report, 0, sizeof report);
        engine_report(w.engine, &report, w.clock_ns);
        assert_true(report.disk_bytes <= 40 * 4096);
    }
    assert_true(report.n_disk_evicted > 0);
    close_world();
}

/* A prefix that memory always has is never read from disk, and stays there all the same. */
static void a_prefix_in_use_stays(void **state)
{
    int64_t n_before = 0;
    (void)state;
    open_world(1 << 20, 1 << 18, 40 * 4096);
    for (uint32_t i = 0; i < 60; i++) {
        ask(i, 5, 100);
        world_finish(&w);
        world_run(&w, w.clock_ns); /* writes are taken back */
        memset(&report, 0, sizeof report);
        engine_report(w.engine, &report, w.clock_ns);
        assert_true(i == 0 || report.n_disk_written - n_before <= 2); /* its own end */
        n_before = report.n_disk_written;
    }
    assert_true(report.n_disk_evicted > 0);
    close_world();
}

/* Without room in host memory, nothing goes to the disk, and answers end all the same. */
static void without_host_memory_nothing_is_kept(void **state)
{
    (void)state;
    open_world(1 << 20, 300, 1 << 20);
    ask(0, 0, 100);
    close_world();
    assert_int_equal(report.n_disk_written, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_prefix_comes_back_after_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_prefix_outlives_a_model_in_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_files_are_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_may_vanish, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_disk_that_fails_is_only_slower, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_disk_that_hangs_is_left_behind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_engine_ends_with_work_in_flight, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_may_end_at_any_moment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_killed_process_leaves_no_wrong_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_bound_holds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_prefix_in_use_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_host_memory_nothing_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
