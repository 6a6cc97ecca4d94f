/* Addresses of servers as users write and paste them. */
#include "../test.h"
#include "loadgen/client.h"

static void assert_url(const char *server, const char *wanted)
{
    const struct client_options options = { .server = server };
    struct str out;
    str_init(&out);
    client_url(&options, "/v1/completions", &out);
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

static void trust_is_for_https(void **state)
{
    static const struct {
        struct client_options options;
        const char *url, *wrong; /* one is set */
    } rows[] = {
        { { .server = "a:1" }, "http://a:1/x", NULL },
        { { .server = "a:1", .is_insecure = true }, "https://a:1/x", NULL },
        { { .server = "https://a:1", .is_insecure = true }, "https://a:1/x", NULL },
        { { .server = "a:1", .cacert = "/dev/null" }, "https://a:1/x", NULL },
        { { .server = "http://a:1", .is_insecure = true },
          NULL,
          "--insecure is for https://, but the server is http://a:1" },
        { { .server = "http://a:1", .cacert = "/dev/null" },
          NULL,
          "--cacert is for https://, but the server is http://a:1" },
        { { .server = "a:1", .cacert = "/nowhere" }, NULL, "--cacert: there is no file /nowhere" },
        { { .server = "a:1", .cacert = "/dev/null", .is_insecure = true },
          NULL,
          "--cacert names the certificates to trust, --insecure trusts all: give one of them" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { "" };
        struct str out;
        bool is_right = client_check(&rows[i].options, &fault) == STATUS_OK;
        assert_string_equal(fault.text, rows[i].wrong != NULL ? rows[i].wrong : "");
        assert_true(is_right == (rows[i].wrong == NULL));
        str_init(&out);
        client_url(&rows[i].options, "/x", &out);
        if (is_right)
            assert_string_equal(out.at, rows[i].url);
        str_free(&out);
    }
}

/* The text of a header: a line end would split it into two headers. */
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
        cmocka_unit_test(trust_is_for_https),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
