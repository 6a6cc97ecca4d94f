/* Frames: the reader gets what the writer wrote, in pieces of any size, and refuses bad bytes as
 * soon as it can see them. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cluster/frame.h"
#include "cluster/message.h"
#include <event2/buffer.h>

static void test_what_is_written_is_read(void **state)
{
    enum { N = 200, BYTES_MAX = 3000 };
    struct evbuffer *stream = evbuffer_new(), *in = evbuffer_new();
    unsigned char message[BYTES_MAX], read[BYTES_MAX];
    struct rng write, check, cut;
    uint32_t version = 0;
    (void)state;
    uint64_t seed = test_seed(5);
    rng_init(&write, seed, 1);
    rng_init(&check, seed, 1);
    rng_init(&cut, 6, 2);
    assert_true(cluster_frame_write_hello(stream));
    for (int i = 0; i < N; i++) {
        size_t n = sizeof(struct message_head) + rng_below(&write, BYTES_MAX / 2);
        size_t n1 = rng_below(&write, (uint32_t)n + 1);
        for (size_t k = 0; k < n; k++)
            message[k] = (unsigned char)rng_u64(&write);
        assert_true(cluster_frame_write(stream, message, n1, message + n1, n - n1));
    }
    for (int i = -1; i < N;) {
        size_t n_message;
        if (i < 0 && cluster_frame_take_hello(in, &version) == CLUSTER_FRAME_WHOLE) {
            i++;
        } else if (i >= 0 && cluster_frame_look(in, &n_message) == CLUSTER_FRAME_WHOLE) {
            size_t n = sizeof(struct message_head) + rng_below(&check, BYTES_MAX / 2);
            (void)rng_below(&check, (uint32_t)n + 1);
            assert_int_equal(n_message, n);
            assert_true(cluster_frame_take(in, read, n));
            for (size_t k = 0; k < n; k++)
                assert_int_equal(read[k], (unsigned char)rng_u64(&check));
            i++;
        } else {
            assert_true(evbuffer_get_length(stream) > 0);
            (void)evbuffer_remove_buffer(stream, in, 1 + rng_below(&cut, 700));
        }
    }
    assert_int_equal(version, MESSAGE_VERSION);
    assert_int_equal(evbuffer_get_length(in), 0);
    evbuffer_free(stream);
    evbuffer_free(in);
}

static void test_lengths_are_checked(void **state)
{
    static const struct {
        uint32_t n_bytes, zero;
        enum cluster_frame_found found;
    } rows[] = {
        { sizeof(struct message_head), 0, CLUSTER_FRAME_PARTIAL },
        { sizeof(struct message_head) - 1, 0, CLUSTER_FRAME_BAD },
        { 0, 0, CLUSTER_FRAME_BAD },
        { 5 << 20, 0, CLUSTER_FRAME_PARTIAL },
        { (5 << 20) + 1, 0, CLUSTER_FRAME_BAD },
        { UINT32_MAX, 0, CLUSTER_FRAME_BAD },
        { 100, 1, CLUSTER_FRAME_BAD },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct evbuffer *in = evbuffer_new();
        size_t n_message;
        assert_int_equal(evbuffer_add(in, &rows[i], 7), 0);
        assert_int_equal(cluster_frame_look(in, &n_message), CLUSTER_FRAME_PARTIAL);
        assert_int_equal(evbuffer_add(in, (const char *)&rows[i] + 7, 1), 0);
        assert_int_equal(cluster_frame_look(in, &n_message), rows[i].found);
        evbuffer_free(in);
    }
}

static void test_bytes_behind_are_zero(void **state)
{
    unsigned char bytes[FRAME_HEAD_BYTES + 56] = { 49 }, message[49];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct evbuffer *in = evbuffer_new();
        size_t n_message;
        bytes[sizeof bytes - 1] = (unsigned char)i;
        assert_int_equal(evbuffer_add(in, bytes, sizeof bytes), 0);
        assert_int_equal(cluster_frame_look(in, &n_message), CLUSTER_FRAME_WHOLE);
        assert_int_equal(cluster_frame_take(in, message, n_message), i == 0);
        evbuffer_free(in);
    }
}

static void test_a_hello_is_judged_at_its_first_byte(void **state)
{
    static const unsigned char good[FRAME_HELLO_BYTES] = { 's', 'h', 'o', 'a', 'l', 'b',
                                                           'u', 's', 9,   1,   0,   0 };
    (void)state;
    for (size_t wrong = 0; wrong <= FRAME_HELLO_BYTES; wrong++) {
        struct evbuffer *in = evbuffer_new();
        unsigned char bytes[FRAME_HELLO_BYTES];
        uint32_t version = 0;
        memcpy(bytes, good, sizeof bytes);
        if (wrong < FRAME_HELLO_BYTES)
            bytes[wrong] ^= 0x20;
        bool is_bad = wrong < 8 || (wrong >= 12 && wrong < FRAME_HELLO_BYTES);
        size_t seen = wrong < 8 ? wrong : FRAME_HELLO_BYTES - 1; /* a byte later it is seen */
        for (size_t n = 0; n < FRAME_HELLO_BYTES; n++) {
            assert_int_equal(evbuffer_add(in, &bytes[n], 1), 0);
            enum cluster_frame_found found = cluster_frame_take_hello(in, &version);
            if (n < seen)
                assert_int_equal(found, CLUSTER_FRAME_PARTIAL);
            else if (n == seen)
                assert_int_equal(found, is_bad ? CLUSTER_FRAME_BAD : CLUSTER_FRAME_WHOLE);
        }
        if (wrong == FRAME_HELLO_BYTES)
            assert_int_equal(version, 0x109);
        evbuffer_free(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_lengths_are_checked),
        cmocka_unit_test(test_bytes_behind_are_zero),
        cmocka_unit_test(test_a_hello_is_judged_at_its_first_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
