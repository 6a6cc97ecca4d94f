/* The tier as a whole: its bytes are bounded, the oldest blocks leave, and another process finds
 * what this one left. */
#include "../test.h"
#include "kv/disk.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_BLOCKS = 12, BLOCK_BYTES = 4096 - 160, FILE_BYTES = 4096 };
static char path[64];
static struct kv_disk *disk;
static unsigned char memory[N_BLOCKS * BLOCK_BYTES];
static uint32_t next[N_BLOCKS]; /* pages of one block each, one after the other */
static struct hash128 names[4][N_BLOCKS];

static void open_tier(int64_t bytes_max)
{
    struct fault fault;
    const struct kv_disk_options options = {
        .path = path, .engine = 0, .bytes_max = bytes_max, .block_bytes_min = BLOCK_BYTES
    };
    assert_int_equal(kv_disk_open(&disk, &options, &fault), STATUS_OK);
    kv_disk_settle(disk);
}

static void fill(int prefix)
{
    for (int i = 0; i < N_BLOCKS; i++) {
        next[i] = (uint32_t)i + 1;
        names[prefix][i] = (struct hash128){ (uint64_t)(prefix * 100 + i + 1), 9 };
        memset(memory + i * BLOCK_BYTES, prefix * 16 + i, BLOCK_BYTES);
    }
}

/* Returns the blocks done. */
static int32_t work(int prefix, int first, int n, bool is_write)
{
    const struct kv_disk_work job = { .is_write = is_write,
                                      .key = { .block_bytes = BLOCK_BYTES, .block_tokens = 4 },
                                      .names = names[prefix],
                                      .first = first,
                                      .n_blocks = n,
                                      .view = { .next = next,
                                                .page = (uint32_t)first,
                                                .n_blocks = n,
                                                .per_page = 1,
                                                .page_bytes = BLOCK_BYTES,
                                                .block_bytes = BLOCK_BYTES },
                                      .base = memory };
    int32_t n_done = -1;
    kv_disk_begin(disk, 1, &job);
    kv_disk_settle(disk);
    assert_true(kv_disk_ended(disk, 1, &n_done));
    assert_false(kv_disk_ended(disk, 1, &n_done));
    return n_done;
}

static int n_there(int prefix)
{
    int n = 0;
    for (int i = 0; i < N_BLOCKS; i++)
        n += kv_disk_has(disk, names[prefix][i]);
    return n;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/shoal-disk-XXXXXX");
    assert_non_null(mkdtemp(path));
    for (int i = 0; i < 4; i++)
        fill(i);
    return 0;
}

static int tear_down(void **state)
{
    char text[128];
    (void)state;
    kv_disk_close(disk);
    snprintf(text, sizeof text, "rm -rf %s", path);
    return system(text);
}

static void blocks_survive_a_restart(void **state)
{
    (void)state;
    open_tier(1 << 20);
    fill(2);
    assert_int_equal(work(2, 0, N_BLOCKS, true), N_BLOCKS);
    kv_disk_close(disk);
    open_tier(1 << 20);
    assert_int_equal(n_there(2), N_BLOCKS);
    memset(memory, 0, sizeof memory);
    assert_int_equal(work(2, 0, N_BLOCKS, false), N_BLOCKS);
    for (int i = 0; i < N_BLOCKS * BLOCK_BYTES; i++)
        assert_int_equal(memory[i], 32 + i / BLOCK_BYTES);
    assert_int_equal(work(3, 0, 3, false), 0);
}

/* The last block of a prefix leaves first, also when only the files tell which is older. */
static void the_oldest_leave_first(void **state)
{
    struct kv_disk_stats stats;
    (void)state;
    for (int restarts = 0; restarts < 2; restarts++) {
        open_tier(24 * FILE_BYTES);
        assert_int_equal(work(0, 0, 8, true), 8);
        assert_int_equal(work(1, 0, 8, true), 8);
        assert_int_equal(work(2, 0, 8, true), 8);
        assert_int_equal(work(0, 0, 8, false), 8); /* so that 1 is the oldest */
        if (restarts > 0) {
            kv_disk_close(disk);
            open_tier(24 * FILE_BYTES);
        }
        assert_int_equal(work(3, 0, 3, true), 3);
        kv_disk_stats(disk, &stats);
        assert_true(stats.n_bytes <= 24 * FILE_BYTES);
        assert_int_equal(stats.n_evicted, 3);
        assert_int_equal(n_there(0) + n_there(2), 16);
        for (int i = 0; i < 8; i++)
            assert_int_equal(kv_disk_has(disk, names[1][i]), i < 5);
        if (restarts == 0) {
            assert_int_equal(tear_down(NULL), 0);
            (void)set_up(NULL);
        }
    }
}

/* A smaller bound at the next start counts for what is there. */
static void a_smaller_bound_evicts_at_the_start(void **state)
{
    struct kv_disk_stats stats;
    (void)state;
    open_tier(24 * FILE_BYTES);
    assert_int_equal(work(0, 0, N_BLOCKS, true), N_BLOCKS);
    kv_disk_close(disk);
    open_tier(5 * FILE_BYTES);
    kv_disk_stats(disk, &stats);
    assert_int_equal(stats.n_bytes, 5 * FILE_BYTES);
    assert_int_equal(n_there(0), 5);
    assert_true(kv_disk_has(disk, names[0][0]) && kv_disk_has(disk, names[0][4]));
}

/* A prefix that is larger than the tier keeps its first blocks, and does not push itself out. */
static void a_long_prefix_is_cut(void **state)
{
    (void)state;
    open_tier(8 * FILE_BYTES);
    assert_int_equal(work(0, 0, N_BLOCKS, true), 4);
    assert_int_equal(n_there(0), 4);
    assert_true(kv_disk_has(disk, names[0][0]));
}

static void a_dropped_job_ends(void **state)
{
    (void)state;
    open_tier(1 << 20);
    for (int i = 0; i < 100; i++) {
        int32_t n_done;
        const struct kv_disk_work job = { .is_write = true,
                                          .key = { .block_bytes = BLOCK_BYTES, .block_tokens = 4 },
                                          .names = names[i % 4],
                                          .n_blocks = N_BLOCKS,
                                          .view = { .next = next,
                                                    .n_blocks = N_BLOCKS,
                                                    .per_page = 1,
                                                    .page_bytes = BLOCK_BYTES,
                                                    .block_bytes = BLOCK_BYTES },
                                          .base = memory };
        kv_disk_begin(disk, i % KV_DISK_JOBS, &job);
        kv_disk_drop(disk, i % KV_DISK_JOBS);
        kv_disk_settle(disk);
        assert_true(kv_disk_ended(disk, i % KV_DISK_JOBS, &n_done));
        assert_true(n_done <= N_BLOCKS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_survive_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_leave_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_smaller_bound_evicts_at_the_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_prefix_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dropped_job_ends, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
