/* Tests of client addresses: texts, sockets, networks, and X-Forwarded-For. */
#include "test.h"

#include "api/addresses.h"
#include <arpa/inet.h>
#include <stdio.h>

static struct api_address address_of(const char *text)
{
    struct api_address address;
    assert_true(api_addresses_read(view_text(text), &address));
    return address;
}

static bool are_equal(const char *a, const char *b)
{
    struct api_address one = address_of(a), other = address_of(b);
    return memcmp(&one, &other, sizeof(one)) == 0;
}

static void test_texts_are_read(void **state)
{
    (void)state;
    assert_true(are_equal("192.0.2.1", "192.0.2.1:8080"));
    assert_true(are_equal("192.0.2.1", "::ffff:192.0.2.1"));
    assert_true(are_equal("2001:db8::1", "[2001:db8::1]:80"));
    assert_true(are_equal("2001:db8::1", "2001:db8::ffff")); /* one client's network */
    assert_false(are_equal("2001:db8::1", "2001:db8:0:1::1"));
    assert_false(are_equal("192.0.2.1", "192.0.2.2"));
    static const char *const wrong[] = {
        "",
        "unknown",
        "_hidden",
        "192.0.2",
        "192.0.2.256",
        "[2001:db8::1",
        "[]",
        "a:b:c:x",
        "1.2.3.4.5",
        "192.0.2.1 ",
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
    };
    struct api_address address;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(api_addresses_read(view_text(wrong[i]), &address));
}

static void test_sockets_are_read(void **state)
{
    (void)state;
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    struct sockaddr other = { .sa_family = AF_UNIX };
    assert_int_equal(inet_pton(AF_INET, "192.0.2.7", &four.sin_addr), 1);
    assert_int_equal(inet_pton(AF_INET6, "2001:db8::7", &six.sin6_addr), 1);
    struct api_address read = api_addresses_of_socket((const struct sockaddr *)&four);
    struct api_address expected = address_of("192.0.2.7");
    assert_memory_equal(&read, &expected, sizeof(read));
    read = api_addresses_of_socket((const struct sockaddr *)&six);
    expected = address_of("2001:db8::1");
    assert_memory_equal(&read, &expected, sizeof(read));
    read = api_addresses_of_socket(&other);
    assert_memory_equal(&read, &(struct api_address){ { 0 } }, sizeof(read));
}

static bool is_in(const char *address, const char *net)
{
    struct api_net read;
    struct fault fault;
    struct api_address at = address_of(address);
    assert_int_equal(api_addresses_read_net(net, &read, &fault), STATUS_OK);
    return api_addresses_is_in(&at, &read, 1);
}

static void test_networks(void **state)
{
    (void)state;
    assert_true(is_in("10.1.2.3", "10.0.0.0/8"));
    assert_false(is_in("11.1.2.3", "10.0.0.0/8"));
    assert_true(is_in("192.168.5.129", "192.168.5.128/25"));
    assert_false(is_in("192.168.5.127", "192.168.5.128/25"));
    assert_true(is_in("127.0.0.1", "127.0.0.1"));
    assert_false(is_in("127.0.0.2", "127.0.0.1"));
    assert_true(is_in("8.8.8.8", "0.0.0.0/0"));
    assert_false(is_in("2001:db8::1", "0.0.0.0/0"));
    assert_true(is_in("2001:db8:7::1", "2001:db8::/32"));
    assert_false(is_in("2001:db9::1", "2001:db8::/32"));
    static const char *const wrong[] = { "",           "here",        "10.0.0.0/33", "10.0.0.0/-1",
                                         "10.0.0.0/x", "10.0.0.0/8/", "::/129",      "/8" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct api_net net;
        struct fault fault;
        assert_int_equal(api_addresses_read_net(wrong[i], &net, &fault), STATUS_BAD_INPUT);
        assert_non_null(strstr(fault.text, wrong[i]));
    }
}

/* Returns the address that proxies of 10.0.0.0/8 forward for; "" for none. */
static const char *forwarded(const char *headers)
{
    static char text[INET6_ADDRSTRLEN];
    static struct api_http_head head;
    struct api_net net;
    struct fault fault;
    struct api_address address;
    struct str bytes;
    const char *why;
    str_init(&bytes);
    str_printf(&bytes, "GET / HTTP/1.1\r\nHost: x\r\n%s\r\n", headers);
    assert_int_equal(api_http_parse_head(view_of(bytes.at, bytes.n), &head, &why), 0);
    assert_int_equal(api_addresses_read_net("10.0.0.0/8", &net, &fault), STATUS_OK);
    bool is_there = api_addresses_forwarded(&head, &net, 1, &address);
    str_free(&bytes);
    if (!is_there)
        return "";
    return inet_ntop(AF_INET, address.bytes + 12, text, sizeof(text));
}

static void test_the_last_untrusted_address_is_the_client(void **state)
{
    (void)state;
    assert_string_equal(forwarded(""), "");
    assert_string_equal(forwarded("X-Forwarded-For: 192.0.2.1\r\n"), "192.0.2.1");
    assert_string_equal(forwarded("x-forwarded-FOR:192.0.2.1:99\r\n"), "192.0.2.1");
    assert_string_equal(forwarded("X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\n"), "192.0.2.1");
    assert_string_equal(forwarded("X-Forwarded-For: 6.6.6.6, 192.0.2.1 , 10.0.0.9\r\n"),
                        "192.0.2.1");
    assert_string_equal(
        forwarded("X-Forwarded-For: 192.0.2.1\r\nA: b\r\nX-Forwarded-For: 10.0.0.9,10.0.0.8\r\n"),
        "192.0.2.1");
    assert_string_equal(forwarded("X-Forwarded-For: 10.0.0.9\r\n"), "");
    assert_string_equal(forwarded("X-Forwarded-For: 192.0.2.1, unknown\r\n"), "");
    assert_string_equal(forwarded("X-Forwarded-For: 192.0.2.1,,\r\n"), "");
    assert_string_equal(forwarded("X-Forwarded-For: \r\n"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_read),
        cmocka_unit_test(test_sockets_are_read),
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_the_last_untrusted_address_is_the_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
