/* Places are the addresses that they were made of. */
#include "../test.h"
#include "bulk/state.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static void places_are_addresses(void **state)
{
    static const struct {
        const char *host;
        bool is_loopback;
    } rows[] = { { "127.0.0.1", true }, { "127.8.0.1", true }, { "::1", true },
                 { "10.0.0.1", false }, { "fd00::1", false },  { "0.0.0.0", false } };
    struct cluster_place before = { .port = 0 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct cluster_place place, again;
        struct sockaddr_storage at;
        struct fault fault;
        assert_int_equal(bulk_place_resolve(rows[i].host, 7700, &place, &fault), STATUS_OK);
        assert_int_equal(place.port, 7700);
        assert_true(bulk_place_is_loopback(&place) == rows[i].is_loopback);
        assert_true(bulk_place_address(&place, &at) > 0);
        assert_true(bulk_place_of((const struct sockaddr *)&at, &again));
        assert_true(bulk_place_is_same(&place, &again) && !bulk_place_is_same(&place, &before));
        before = place;
        again.port++;
        assert_false(bulk_place_is_same(&place, &again));
    }
}

static void other_addresses_are_none(void **state)
{
    struct cluster_place place;
    struct fault fault;
    const struct sockaddr local = { .sa_family = AF_UNIX };
    (void)state;
    assert_false(bulk_place_of(&local, &place));
    assert_int_equal(bulk_place_resolve("256.0.0.1", 1, &place, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "256.0.0.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_addresses),
        cmocka_unit_test(other_addresses_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
