/* Tests of parties: identity, the bound of the table, and the memory that each may take. */
#include "test.h"

#include "api/parties.h"
#include <stdio.h>

static struct api_address address_of(int i)
{
    struct api_address address;
    char text[32];
    snprintf(text, sizeof(text), "10.0.%d.%d", i / 256, i % 256);
    assert_true(api_addresses_read(view_text(text), &address));
    return address;
}

static struct api_party *take(struct api_parties *parties, int i)
{
    struct api_address address = address_of(i);
    return api_parties_take_address(parties, &address);
}

static void test_the_same_key_is_the_same_party(void **state)
{
    (void)state;
    struct api_parties *parties = api_parties_open(8, NULL);
    struct api_party *one = take(parties, 1), *two = take(parties, 2);
    struct api_party *tenant = api_parties_take_tenant(parties, 1);
    assert_true(one != two && one != tenant && two != tenant);
    assert_ptr_equal(take(parties, 1), one);
    assert_ptr_equal(api_parties_take_tenant(parties, 1), tenant);
    assert_int_equal(one->n_users, 2);
    assert_true(api_parties_room(parties, one) == INT64_MAX);
    assert_false(api_parties_is_full(parties));
    for (int i = 0; i < 2; i++) {
        api_parties_put(parties, one);
        api_parties_put(parties, tenant);
    }
    api_parties_put(parties, two);
    api_parties_close(parties);
}

/* An entry is freed when it has no user and holds nothing. When the table is full, further parties
 * share one entry. */
static void test_the_table_is_bounded(void **state)
{
    (void)state;
    struct mem_account root = { .n_bytes_max = 1 << 20 };
    struct api_parties *parties = api_parties_open(4, &root);
    for (int i = 0; i < 1000; i++)
        api_parties_put(parties, take(parties, i));
    struct api_party *holder = take(parties, 0);
    (void)mem_account_use(&holder->account);
    void *held = mem_take(100);
    (void)mem_account_use(NULL);
    api_parties_put(parties, holder);
    assert_ptr_equal(take(parties, 0), holder); /* it is still there */
    api_parties_put(parties, holder);
    struct api_party *more[5];
    for (int i = 0; i < 5; i++)
        more[i] = take(parties, 10 + i);
    assert_ptr_equal(more[3], more[4]); /* three places were left */
    assert_ptr_not_equal(more[2], more[3]);
    mem_give(held);
    assert_int_equal(mem_account_bytes(&root), 0);
    struct api_party *late = take(parties, 99); /* reuses the entry that holds nothing */
    assert_ptr_equal(late, holder);
    for (int i = 0; i < 5; i++)
        api_parties_put(parties, more[i]);
    api_parties_put(parties, late);
    api_parties_close(parties);
}

static void test_what_is_large_leaves_room_for_others(void **state)
{
    (void)state;
    enum { MIB = 1 << 20 };
    struct mem_account root = { .n_bytes_max = 64 * MIB };
    struct api_parties *parties = api_parties_open(4, &root);
    struct api_party *one = take(parties, 1), *two = take(parties, 2);
    assert_true(api_parties_room_alone(parties, 0) == 49 * MIB); /* 7/8 of 7/8 */
    assert_true(api_parties_room(parties, one) == 49 * MIB);
    assert_true(api_parties_room_alone(parties, 8 * MIB) == 41 * MIB);
    mem_account_charge(&one->account, 49 * MIB);
    assert_true(api_parties_room(parties, one) == 0);
    assert_true(api_parties_room(parties, two) > 6 * MIB);
    mem_account_charge(&two->account, 15 * MIB);
    assert_true(api_parties_room(parties, two) == 0);
    assert_true(api_parties_is_full(parties));
    mem_account_charge(&one->account, -49 * MIB);
    assert_true(api_parties_room(parties, two) > 20 * MIB);
    mem_account_charge(&two->account, -15 * MIB);
    assert_int_equal(mem_account_bytes(&root), 0);
    api_parties_put(parties, one);
    api_parties_put(parties, two);
    api_parties_close(parties);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_key_is_the_same_party),
        cmocka_unit_test(test_the_table_is_bounded),
        cmocka_unit_test(test_what_is_large_leaves_room_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
