/* Tests of files in a folder of their own. */
#include "test.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include <fcntl.h>
#include <sys/stat.h>

static char folder[64], path[128];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/shoal-file-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/content", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* also proves that no draft was left */
}

static void test_write_then_read(void **state)
{
    (void)state;
    char *content;
    size_t n;
    struct fault fault;
    assert_false(file_exists(path));
    assert_int_equal(file_write(path, "one\0two", 7, &fault), STATUS_OK);
    assert_true(file_exists(path));
    assert_false(file_is_directory(path));
    assert_true(file_is_directory(folder));
    assert_int_equal(file_read(path, 7, &content, &n, &fault), STATUS_OK);
    assert_int_equal(n, 7);
    assert_memory_equal(content, "one\0two", 8);
    mem_give(content);
    assert_int_equal(file_read(path, 6, &content, &n, &fault), STATUS_TOO_LARGE);
    assert_int_equal(file_write(path, "", 0, &fault), STATUS_OK);
    assert_int_equal(file_read(path, 0, &content, &n, &fault), STATUS_OK);
    assert_int_equal(n, 0);
    assert_string_equal(content, "");
    mem_give(content);
}

static void test_find(void **state)
{
    (void)state;
    char name[FILE_NAME_BYTES] = "", other[160];
    struct fault fault;
    snprintf(other, sizeof(other), "%s/an.ending", folder);
    assert_false(file_find(folder, "content", name));
    assert_int_equal(file_write(path, "x", 1, &fault), STATUS_OK);
    assert_int_equal(file_write(other, "x", 1, &fault), STATUS_OK);
    assert_true(file_find(folder, "content", name));
    assert_string_equal(name, "content");
    assert_true(file_find(folder, "n", name) == false);
    assert_true(file_find(folder, ".ending", name));
    assert_string_equal(name, "an.ending");
    assert_false(file_find("/nonexistent", "", name));
    unlink(other);
}

/* A rename would replace the pipe, or /dev/null. */
static void test_write_into_a_pipe(void **state)
{
    (void)state;
    struct fault fault;
    struct stat info;
    char got[8] = { 0 };
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR); /* so that neither end waits for the other */
    assert_true(fd >= 0);
    assert_int_equal(file_write(path, "one two", 7, &fault), STATUS_OK);
    assert_int_equal(read(fd, got, 7), 7);
    assert_string_equal(got, "one two");
    close(fd);
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    assert_int_equal(file_write(folder, "x", 1, &fault), STATUS_IO); /* a folder */
}

/* No process writes into the pipe, so a reader that waited would never return. */
static void test_regular_only(void **state)
{
    (void)state;
    const char *const others[] = { path, folder, "/dev/zero" };
    char *content;
    size_t n;
    struct fault fault;
    assert_int_equal(file_read_regular(path, 10, &content, &n, &fault), STATUS_NOT_FOUND);
    assert_int_equal(mkfifo(path, 0600), 0);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        char expected[160];
        snprintf(expected, sizeof(expected), "%s is not a regular file", others[i]);
        assert_int_equal(file_read_regular(others[i], 10, &content, &n, &fault), STATUS_BAD_INPUT);
        assert_string_equal(fault.text, expected);
    }
    unlink(path);
    assert_int_equal(file_write(path, "one two", 7, &fault), STATUS_OK);
    assert_int_equal(file_read_regular(path, 7, &content, &n, &fault), STATUS_OK);
    assert_string_equal(content, "one two");
    mem_give(content);
    assert_int_equal(file_read_regular(path, 6, &content, &n, &fault), STATUS_TOO_LARGE);
}

static void test_keep_what_comes_through_a_pipe(void **state)
{
    (void)state;
    static const char text[] = "one two";
    static const char *const folders[] = { "/dev/fd", "/proc/self/fd" };
    char *content, of_pipe[32];
    size_t n;
    struct fault fault;
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(write(fds[1], text, sizeof(text) - 1), sizeof(text) - 1);
        close(fds[1]);
        snprintf(of_pipe, sizeof(of_pipe), "%s/%d", folders[i], fds[0]);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(file_keep(of_pipe, 7, &fault), STATUS_OK);
            assert_int_equal(file_read_regular(of_pipe, 7, &content, &n, &fault), STATUS_OK);
            assert_string_equal(content, text);
            mem_give(content);
        }
        close(fds[0]);
        assert_int_equal(file_keep(of_pipe, 7, &fault), STATUS_OK); /* nothing there: left alone */
    }
    int large[2];
    assert_int_equal(pipe(large), 0);
    assert_int_equal(write(large[1], text, sizeof(text) - 1), sizeof(text) - 1);
    close(large[1]);
    snprintf(of_pipe, sizeof(of_pipe), "/dev/fd/%d", large[0]);
    assert_int_equal(file_keep(of_pipe, 6, &fault), STATUS_TOO_LARGE);
    assert_non_null(strstr(fault.text, "larger than 6 bytes"));
    close(large[0]);
    assert_int_equal(file_keep(path, 7, &fault), STATUS_OK);
    assert_false(file_exists(path));
}

static void test_read_large(void **state)
{
    (void)state;
    enum { N_BYTES = 1234567 };
    unsigned char *bytes = mem_take(N_BYTES);
    for (size_t i = 0; i < N_BYTES; i++)
        bytes[i] = (unsigned char)(i * 7 >> 3);
    struct fault fault;
    assert_int_equal(file_write(path, bytes, N_BYTES, &fault), STATUS_OK);
    static const size_t limits[] = { N_BYTES, N_BYTES + 1, N_BYTES * 3, (size_t)1 << 40 };
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        char *content;
        size_t n;
        assert_int_equal(file_read(path, limits[i], &content, &n, &fault), STATUS_OK);
        assert_int_equal(n, N_BYTES);
        assert_memory_equal(content, bytes, N_BYTES);
        assert_int_equal(content[n], 0);
        mem_give(content);
    }
    struct file_map map;
    assert_int_equal(file_map_open(&map, path, &fault), STATUS_OK);
    assert_int_equal(map.n_bytes, N_BYTES);
    file_map_drop(&map, 5000, 900000);
    file_map_drop(&map, N_BYTES, 0);
    assert_memory_equal(map.at, bytes, N_BYTES);
    file_map_close(&map);
    assert_null(map.at);
    file_map_close(&map);
    mem_give(bytes);
}

static void test_refusals_name_the_file(void **state)
{
    (void)state;
    char *content;
    size_t n;
    struct fault fault;
    struct file_map map;
    assert_int_equal(file_read(path, 10, &content, &n, &fault), STATUS_NOT_FOUND);
    assert_non_null(strstr(fault.text, path));
    assert_int_equal(file_map_open(&map, path, &fault), STATUS_NOT_FOUND);
    file_map_close(&map);
    assert_int_equal(file_map_open(&map, folder, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "regular"));
    assert_int_equal(file_read(folder, 10, &content, &n, &fault), STATUS_IO);
    assert_int_equal(file_write("/nowhere/at/all", "x", 1, &fault), STATUS_NOT_FOUND);
    assert_int_equal(file_may_write("/nowhere/at/all", &fault), STATUS_NOT_FOUND);
    assert_string_equal(fault.text, "/nowhere/at/all: No such file or directory");
    assert_int_equal(file_may_write("/etc/passwd/x", &fault), STATUS_NOT_FOUND);
    assert_int_equal(file_may_write(folder, &fault), STATUS_IO);
    assert_int_equal(file_may_write(path, &fault),
                     STATUS_OK); /* in a folder of our own, which does not exist yet */
    assert_int_equal(file_may_write("x", &fault), STATUS_OK);
    assert_int_equal(file_may_write("/dev/null", &fault), STATUS_OK);
    assert_int_equal(file_write(folder, "x", 1, &fault), STATUS_IO); /* rename on a folder */
}

static void test_map_of_nothing(void **state)
{
    (void)state;
    struct file_map map;
    struct fault fault;
    assert_int_equal(file_write(path, "", 0, &fault), STATUS_OK);
    assert_int_equal(file_map_open(&map, path, &fault), STATUS_OK);
    assert_non_null(map.at);
    assert_int_equal(map.n_bytes, 0);
    file_map_close(&map);
}

static void test_read_what_has_no_size(void **state)
{
    (void)state;
    char *content;
    size_t n;
    assert_int_equal(file_read("/proc/self/status", 1 << 20, &content, &n, NULL), STATUS_OK);
    assert_non_null(strstr(content, "Pid:"));
    mem_give(content);
    assert_int_equal(file_read("/dev/zero", 10000, &content, &n, NULL), STATUS_TOO_LARGE);
}

extern void __asan_init(void) __attribute__((weak));

/* A file that is cut while it is read ends no process, and a reader that checks is told. */
static void test_cut_while_it_is_mapped(void **state)
{
    (void)state;
    enum { N_BYTES = 1 << 20 };
    struct fault fault;
    struct file_map map, other;
    if (__asan_init != NULL)
        TEST_SKIP("a sanitizer keeps the signal to itself");
    char *content = mem_take(N_BYTES + 1);
    memset(content, 'x', N_BYTES);
    assert_int_equal(file_write(path, content, N_BYTES, &fault), STATUS_OK);
    assert_int_equal(file_map_open(&map, path, &fault), STATUS_OK);
    assert_true(file_map_is_whole(&map));
    time_sleep_ns(50 * TIME_NS_PER_MS); /* the clock of files is coarse */
    assert_int_equal(truncate(path, N_BYTES / 2), 0);
    assert_false(file_map_is_whole(&map));
    assert_int_equal(truncate(path, N_BYTES), 0); /* its time of change shows it */
    assert_false(file_map_is_whole(&map));
    file_map_close(&map);
    assert_int_equal(file_map_open(&map, path, &fault), STATUS_OK);
    assert_int_equal(truncate(path, 10000), 0);
    for (int i = 0; i < N_BYTES; i += 1000)
        assert_int_equal(map.at[i], i < 10000 ? 'x' : 0);
    assert_false(file_map_is_whole(&map));
    assert_int_equal(file_map_open(&other, path, &fault), STATUS_OK);
    assert_true(file_map_is_whole(&other));
    file_map_close(&other);
    file_map_close(&map);
    mem_give(content);
}

static void test_list_by_ending(void **state)
{
    (void)state;
    char names[3][FILE_NAME_BYTES], place[512];
    struct fault fault;
    const char *slash = strrchr(path, '/');
    snprintf(place, sizeof(place), "%.*s", (int)(slash - path), path);
    assert_int_equal(file_list("/no/such/folder", ".x", names, 3), -1);
    assert_int_equal(file_list(place, ".x", names, 3), 0);
    static const char *const files[] = { "b.x", "a.x", "c.y", ".x" };
    char file[600];
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        snprintf(file, sizeof(file), "%s/%s", place, files[i]);
        assert_int_equal(file_write(file, "", 0, &fault), STATUS_OK);
    }
    assert_int_equal(file_list(place, ".x", names, 3), 2);
    assert_string_equal(names[0], "a.x");
    assert_string_equal(names[1], "b.x");
    assert_int_equal(file_list(place, ".x", names, 1), 1);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        snprintf(file, sizeof(file), "%s/%s", place, files[i]);
        unlink(file);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_find),
        IN_FOLDER(test_write_then_read),
        IN_FOLDER(test_write_into_a_pipe),
        IN_FOLDER(test_regular_only),
        IN_FOLDER(test_read_large),
        IN_FOLDER(test_refusals_name_the_file),
        IN_FOLDER(test_map_of_nothing),
        IN_FOLDER(test_read_what_has_no_size),
        IN_FOLDER(test_keep_what_comes_through_a_pipe),
        IN_FOLDER(test_cut_while_it_is_mapped),
        IN_FOLDER(test_list_by_ending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
