/* Register dumps of cuda/ptx.cuh: the format, and the host twins against dumps of real GPUs
 * (tests/cuda/vectors). With file names as arguments it only compares those. */
#include "test.h"

#include "base/file.h"
#include "vectors.h"

static char path[] = "/tmp/shoal-vectors-XXXXXX";

static int open_file(void **state)
{
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    return vectors_write(path, "the emulator") ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void a_dump_is_read_back(void **state)
{
    (void)state;
    assert_int_equal(vectors_compare(path), 0);
}

static void change_byte(long at, int byte)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    int old = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    assert_true(fputc(old ^ byte, file) != EOF);
    assert_int_equal(fclose(file), 0);
}

/* A high bit of the last exponential, then the name of the first function. */
static void wrong_words_are_found(void **state)
{
    enum { HEAD_BYTES = 80 };
    (void)state;
    change_byte(-1, 0x10);
    assert_int_equal(vectors_compare(path), 1);
    change_byte(-1, 0x10);
    change_byte(HEAD_BYTES, 1);
    assert_int_equal(vectors_compare(path), -1);
    change_byte(HEAD_BYTES, 1);
    assert_int_equal(truncate(path, 5000), 0);
    assert_int_equal(vectors_compare(path), -1);
    assert_true(vectors_write(path, "the emulator"));
}

static void twins_equal_the_registers_of_gpus(void **state)
{
    static char names[64][FILE_NAME_BYTES];
    int n = file_list(VECTORS_FOLDER, ".ptx", names, 64);
    (void)state;
    if (n <= 0)
        TEST_SKIP("no register dump of a GPU is in tests/cuda/vectors yet (bench/gpu.sh "
                  "conformance writes one)");
    for (int i = 0; i < n; i++) {
        char whole[sizeof(VECTORS_FOLDER) + FILE_NAME_BYTES + 1];
        snprintf(whole, sizeof whole, VECTORS_FOLDER "/%.*s", FILE_NAME_BYTES - 1, names[i]);
        assert_int_equal(vectors_compare(whole), 0);
    }
}

int main(int argc, char **argv)
{
    long n_wrong = 0;
    for (int i = 1; i < argc; i++) {
        long n = vectors_compare(argv[i]);
        if (n < 0)
            printf("%s is no register dump of this version\n", argv[i]);
        n_wrong += n != 0;
    }
    if (argc > 1)
        return n_wrong == 0 ? 0 : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_is_read_back),
        cmocka_unit_test(wrong_words_are_found),
        cmocka_unit_test(twins_equal_the_registers_of_gpus),
    };
    return cmocka_run_group_tests(tests, open_file, remove_file);
}
