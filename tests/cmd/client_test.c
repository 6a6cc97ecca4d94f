/* Addresses of servers as people write and paste them. */
#include "../test.h"
#include "cmd/client.h"

static void assert_url(const char *server, const char *wanted)
{
    struct str out;
    str_init(&out);
    client_url(server, "/v1/completions", &out);
    assert_string_equal(out.at, wanted);
    str_free(&out);
}

static void an_address_may_end_in_slashes_and_in_the_base_of_clients(void **state)
{
    (void)state;
    const char *wanted = "http://127.0.0.1:7411/v1/completions";
    assert_url("127.0.0.1:7411", wanted);
    assert_url("http://127.0.0.1:7411", wanted);
    assert_url("http://127.0.0.1:7411//", wanted);
    assert_url("http://127.0.0.1:7411/v1", wanted);
    assert_url("127.0.0.1:7411/v1/", wanted);
    assert_url("https://models.example/here", "https://models.example/here/v1/completions");
}

/* What goes into a header: a line's end would make two of one. */
static void a_key_is_what_a_header_carries(void **state)
{
    (void)state;
    struct str answer;
    struct fault fault;
    int status = -1;
    const struct client_options options = { "127.0.0.1:1", "secret\r\nX-Other: 1" };
    str_init(&answer);
    assert_int_equal(client_call(&options, "/", NULL, &status, &answer, &fault), STATUS_BAD_INPUT);
    assert_string_equal(fault.text, "the key has a control character (U+000D) at byte 7, expected "
                                    "printable ASCII characters, as a header carries them");
    assert_int_equal(status, 0);
    str_free(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_what_a_header_carries),
        cmocka_unit_test(an_address_may_end_in_slashes_and_in_the_base_of_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
