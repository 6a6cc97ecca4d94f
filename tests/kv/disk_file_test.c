/* A block comes back from its file as it was written, or not at all: whatever byte of the file is
 * changed, missing or too many, and whatever field of the key is another. */
#include "../test.h"
#include "base/mem.h"
#include "kv/disk_file.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK_BYTES = 300 };
static char path[64];
static struct kv_disk_folder folder;
static struct kv_disk_file file;
static unsigned char written[BLOCK_BYTES], got[BLOCK_BYTES];

static int set_up(void **state)
{
    struct fault fault;
    (void)state;
    snprintf(path, sizeof path, "/tmp/shoal-disk-file-XXXXXX");
    assert_non_null(mkdtemp(path));
    assert_int_equal(kv_disk_file_open(&folder, path, 3, &fault), STATUS_OK);
    file = (struct kv_disk_file){ .key = { 1, 2, 3, 4, 5, 6, BLOCK_BYTES, 16, 1, 0, 1 },
                                  .name = { 77, 88 },
                                  .position = 32,
                                  .used_ns = 1000000000 };
    for (int i = 0; i < BLOCK_BYTES; i++)
        written[i] = (unsigned char)(i * 7);
    assert_int_equal(kv_disk_file_write(&folder, &file, written), KV_DISK_DONE);
    return 0;
}

static int tear_down(void **state)
{
    char text[128];
    (void)state;
    kv_disk_file_close(&folder);
    snprintf(text, sizeof text, "rm -rf %s", path);
    return system(text);
}

static const char *name(void)
{
    static char text[128];
    snprintf(text, sizeof text, "%s/engine-3/%016x%016x.kv", path, 88, 77);
    return text;
}

static enum kv_disk_result read_with(const struct kv_disk_file *expected)
{
    memset(got, 0, sizeof got);
    return kv_disk_file_read(&folder, expected, got);
}

static void a_block_comes_back(void **state)
{
    struct kv_disk_found *found;
    struct stat info;
    (void)state;
    assert_int_equal(read_with(&file), KV_DISK_DONE);
    assert_memory_equal(got, written, BLOCK_BYTES);
    assert_int_equal(kv_disk_file_list(&folder, &found), 1);
    assert_true(found[0].name.low == 77 && found[0].name.high == 88);
    assert_int_equal(found[0].used_ns, 1000000000);
    assert_int_equal(found[0].n_bytes, kv_disk_file_bytes(BLOCK_BYTES));
    mem_give(found);
    assert_int_equal(stat(name(), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600); /* it tells what prompts said */
    kv_disk_file_remove(&folder, file.name);
    assert_int_equal(read_with(&file), KV_DISK_GONE);
}

/* Changes one byte of the file at a time. */
static void no_changed_byte_passes(void **state)
{
    struct stat info;
    (void)state;
    int fd = open(name(), O_RDWR);
    assert_int_equal(fstat(fd, &info), 0);
    for (off_t at = 0; at < info.st_size; at++) {
        unsigned char byte, changed;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        changed = byte ^ (unsigned char)(1 << at % 8);
        assert_int_equal(pwrite(fd, &changed, 1, at), 1);
        assert_int_equal(read_with(&file), KV_DISK_BAD);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_int_equal(read_with(&file), KV_DISK_DONE);
    close(fd);
}

static void no_other_length_passes(void **state)
{
    struct stat info;
    (void)state;
    assert_int_equal(stat(name(), &info), 0);
    assert_int_equal(truncate(name(), info.st_size + 1), 0);
    assert_int_equal(read_with(&file), KV_DISK_BAD);
    for (off_t n = info.st_size; n-- > 0;) {
        assert_int_equal(truncate(name(), n), 0);
        assert_int_equal(read_with(&file), KV_DISK_BAD);
    }
    assert_int_equal(unlink(name()), 0); /* nor what is no file at all */
    assert_int_equal(symlink("/dev/zero", name()), 0);
    assert_int_equal(read_with(&file), KV_DISK_BAD);
    assert_int_equal(unlink(name()), 0);
    assert_int_equal(mkfifo(name(), 0600), 0);
    assert_int_equal(read_with(&file), KV_DISK_BAD);
}

/* Every 4 bytes of the key, and the other facts of a block. Sizes other than the file's never come
 * so far. */
static void no_other_key_passes(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof file.key; at += 4) {
        struct kv_disk_file other = file;
        uint32_t *word = (void *)((unsigned char *)&other.key + at);
        if (at / 8 == offsetof(struct kv_disk_key, block_bytes) / 8)
            continue;
        *word ^= 1;
        assert_int_equal(read_with(&other), KV_DISK_BAD);
    }
    struct kv_disk_file other = file;
    other.position++;
    assert_int_equal(read_with(&other), KV_DISK_BAD);
    other = file;
    other.name.low++; /* a file under another block's name */
    char text[128];
    snprintf(text, sizeof text, "%s/engine-3/%016x%016x.kv", path, 88, 78);
    assert_int_equal(link(name(), text), 0);
    assert_int_equal(read_with(&other), KV_DISK_BAD);
}

/* A file that no tier wrote is neither listed nor removed, except for a block that a crash left
 * half written. */
static void only_its_own_files_are_listed(void **state)
{
    static const char *const others[] = { "lock", "README", "0000000000000058000000000000004D.kv",
                                          "000000000000005800000000000004d.kv", "block.tmp" };
    struct kv_disk_found *found;
    char text[128];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        snprintf(text, sizeof text, "%s/engine-3/%s", path, others[i]);
        close(open(text, O_CREAT | O_WRONLY, 0600));
    }
    snprintf(text, sizeof text, "%s/engine-3/%032d.kv", path, 0);
    assert_int_equal(mkdir(text, 0700), 0);
    assert_int_equal(kv_disk_file_list(&folder, &found), 1);
    mem_give(found);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        snprintf(text, sizeof text, "%s/engine-3/%s", path, others[i]);
        assert_int_equal(access(text, F_OK) == 0, i + 1 < COUNT_OF(others));
    }
}

/* Another process can't have the folder until this one ends. */
static void one_process_has_the_folder(void **state)
{
    (void)state;
    for (int engine = 3; engine < 5; engine++) {
        pid_t child = fork();
        if (child == 0) {
            struct kv_disk_folder second;
            struct fault fault;
            enum status status = kv_disk_file_open(&second, path, engine, &fault);
            bool is_named = strstr(fault.text, "another process") != NULL;
            _exit(status == STATUS_OK ? 1 : status == STATUS_BUSY && is_named ? 2 : 3);
        }
        int code;
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_int_equal(WEXITSTATUS(code), engine == 3 ? 2 : 1);
    }
}

static void a_folder_that_can_not_be_is_refused(void **state)
{
    struct kv_disk_folder other;
    struct fault fault;
    (void)state;
    assert_int_equal(kv_disk_file_open(&other, name(), 0, &fault), STATUS_IO);
    assert_non_null(strstr(fault.text, "kv_disk"));
    assert_int_equal(kv_disk_file_open(&other, "/nowhere/at/all", 0, &fault), STATUS_IO);
    char text[5000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(kv_disk_file_open(&other, text, 0, &fault), STATUS_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_block_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_changed_byte_passes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_other_length_passes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_other_key_passes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_its_own_files_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_process_has_the_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_can_not_be_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
