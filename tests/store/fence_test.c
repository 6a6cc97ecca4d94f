/* Managers that a node obeys, and its memory of them after a restart. */
#include "test.h"

#include "base/file.h"
#include "store/fence.h"

static char path[64];

static int open_folder(void **state)
{
    static char folder[] = "/tmp/shoal-fence-test-XXXXXX";
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/fence", folder);
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    unlink(path);
    *strrchr(path, '/') = '\0';
    return rmdir(path);
}

static const struct store_id life = { 1, 2 }, other_life = { 1, 3 }, ann = { 7, 7 }, bob = { 7, 8 };

static enum store_verdict check(struct store_fence *fence, struct store_id nonce, uint64_t epoch,
                                struct store_id manager)
{
    const struct store_stamp stamp = { nonce, manager, epoch };
    return store_fence_check(fence, &stamp);
}

static void test_older_managers_are_refused(void **state)
{
    struct store_fence fence;
    (void)state;
    for (int i = 0; i < 3; i++) { /* each time it was started anew */
        assert_int_equal(store_fence_open(&fence, path, NULL), STATUS_OK);
        uint64_t epoch = 4 + (uint64_t)i;
        assert_int_equal(check(&fence, life, epoch, ann), STORE_OBEY);
        assert_int_equal(check(&fence, life, epoch, ann), STORE_OBEY);
        assert_int_equal(check(&fence, life, epoch - 1, bob), STORE_OLD_EPOCH);
        assert_int_equal(check(&fence, life, epoch, bob), STORE_SAME_EPOCH);
        assert_int_equal(check(&fence, other_life, epoch + 9, bob), STORE_OTHER_LIFE);
        assert_int_equal(check(&fence, life, 0, bob), STORE_OLD_EPOCH);
    }
    assert_int_equal(store_fence_adopt(&fence, life, NULL), STATUS_OK); /* known: nothing changes */
    assert_int_equal(check(&fence, life, 5, bob), STORE_OLD_EPOCH);
    assert_int_equal(store_fence_adopt(&fence, other_life, NULL), STATUS_OK);
    assert_int_equal(store_fence_open(&fence, path, NULL), STATUS_OK);
    assert_int_equal(check(&fence, life, 100, ann), STORE_OTHER_LIFE);
    assert_int_equal(check(&fence, other_life, 1, bob), STORE_OBEY);
}

/* An operator adopts another life on the disk of a node that runs. A late message of the old life
 * must not undo that, and the new life is obeyed then. */
static void test_what_was_adopted_stays(void **state)
{
    struct store_fence running, operators;
    (void)state;
    (void)unlink(path);
    assert_int_equal(store_fence_open(&running, path, NULL), STATUS_OK);
    assert_int_equal(check(&running, life, 4, ann), STORE_OBEY);
    assert_int_equal(store_fence_open(&operators, path, NULL), STATUS_OK);
    assert_int_equal(store_fence_adopt(&operators, other_life, NULL), STATUS_OK);
    assert_int_equal(check(&running, life, 4, ann), STORE_OBEY); /* as before, until it changes */
    assert_int_equal(check(&running, life, 5, bob), STORE_OTHER_LIFE);
    assert_int_equal(check(&running, other_life, 1, bob), STORE_OBEY);
    assert_int_equal(store_fence_open(&operators, path, NULL), STATUS_OK);
    assert_true(store_id_equal(operators.kept.nonce, other_life) && operators.kept.epoch == 1);
}

static void test_what_cannot_be_remembered_is_not_obeyed(void **state)
{
    struct store_fence fence;
    struct fault fault;
    (void)state;
    assert_int_equal(store_fence_open(&fence, "/nowhere/at/all/fence", &fault), STATUS_OK);
    assert_int_equal(check(&fence, life, 1, ann), STORE_CANNOT_REMEMBER);
    assert_int_equal(check(&fence, life, 1, ann), STORE_CANNOT_REMEMBER);
    assert_int_not_equal(store_fence_adopt(&fence, life, &fault), STATUS_OK);
}

static void test_a_damaged_memory_is_refused(void **state)
{
    static const char *const contents[] = {
        "",
        "shoal-fence 1",
        "shoal-fence 2 00000000000000010000000000000002 4 00000000000000070000000000000007\n",
        "shoal-fence 1 00000000000000010000000000000002 4 0000000000000007000000000000000\n",
        "shoal-fence 1 0000000000000001000000000000000G 4 00000000000000070000000000000007\n",
        "shoal-fence 1 00000000000000010000000000000002 x 00000000000000070000000000000007\n",
        "shoal-fence 1 00000000000000010000000000000002 4 00000000000000070000000000000007",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(contents); i++) {
        struct store_fence fence;
        struct fault fault = { "" };
        assert_int_equal(file_write(path, contents[i], strlen(contents[i]), NULL), STATUS_OK);
        assert_int_equal(store_fence_open(&fence, path, &fault), STATUS_BAD_INPUT);
        assert_non_null(strstr(fault.text, "damaged"));
    }
}

static void test_ids_are_read_as_written(void **state)
{
    char text[STORE_ID_TEXT];
    struct store_id id = { 0x0123456789abcdef, 0xfedcba9876543210 }, out;
    (void)state;
    store_id_write(id, text);
    assert_string_equal(text, "0123456789abcdeffedcba9876543210");
    assert_true(store_id_read(text, 32, &out) && store_id_equal(id, out));
    assert_false(store_id_read(text, 31, &out));
    assert_false(store_id_read("0123456789ABCDEFfedcba9876543210", 32, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_managers_are_refused),
        cmocka_unit_test(test_what_was_adopted_stays),
        cmocka_unit_test(test_what_cannot_be_remembered_is_not_obeyed),
        cmocka_unit_test(test_a_damaged_memory_is_refused),
        cmocka_unit_test(test_ids_are_read_as_written),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
