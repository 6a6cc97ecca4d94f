/* Heads and hellos of bulk connections: what no sender writes is refused before memory is taken. */
#include "../test.h"
#include "bulk/frame.h"
#include "engine/exchange.h"
#include <event2/buffer.h>
#include <string.h>

static enum cluster_frame_found look(const struct bulk_head *head)
{
    struct evbuffer *in = evbuffer_new();
    struct bulk_head got;
    for (size_t n = 0; n < sizeof *head; n++) { /* byte by byte */
        assert_int_equal(bulk_frame_look(in, &got), CLUSTER_FRAME_PARTIAL);
        assert_int_equal(evbuffer_add(in, (const char *)head + n, 1), 0);
    }
    enum cluster_frame_found found = bulk_frame_look(in, &got);
    if (found == CLUSTER_FRAME_WHOLE)
        assert_memory_equal(&got, head, sizeof got);
    evbuffer_free(in);
    return found;
}

static const struct bulk_head good[] = {
    { .kind = BULK_PULL, .serial = 7, .ticket = 9, .n = 4096, .index = 3, .engine = 2 },
    { .kind = BULK_DONE, .ticket = 9, .engine = 2 },
    { .kind = BULK_BLOCK, .serial = 7, .n = 4096, .n_bytes = 4096 + sizeof(struct exchange_stamp) },
    { .kind = BULK_BLOCK, .serial = 7, .index = BULK_LATER },
    { .kind = BULK_BLOCK, .serial = 7, .index = BULK_GONE },
    { .kind = BULK_ASK, .serial = 7, .n = 1, .offset = 5, .n_bytes = BULK_SHA256_BYTES },
    { .kind = BULK_PART, .serial = 7, .n = 65536, .n_bytes = 65536, .offset = 100000 },
    { .kind = BULK_PART, .serial = 7, .index = BULK_GONE },
};

static void heads_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_int_equal(look(&good[i]), CLUSTER_FRAME_WHOLE);
}

static void heads_that_no_sender_writes_are_refused(void **state)
{
    (void)state;
    struct bulk_head bad[] = {
        { .kind = 0 },
        { .kind = BULK_PART + 1 },
        { .kind = BULK_PULL, .ticket = 9, .n = 4096, .n_bytes = 1 },
        { .kind = BULK_PULL, .ticket = 0, .n = 4096 },
        { .kind = BULK_PULL, .ticket = 9, .n = 0 },
        { .kind = BULK_PULL, .ticket = 9, .n = -1 },
        { .kind = BULK_PULL, .ticket = 9, .n = BULK_BLOCK_BYTES_MAX + 1 },
        { .kind = BULK_PULL, .ticket = 9, .n = 4096, .index = -1 },
        { .kind = BULK_DONE, .ticket = 9, .n = 4096 },
        { .kind = BULK_BLOCK, .n = 4096, .n_bytes = 4096 },
        { .kind = BULK_BLOCK, .n = 0, .n_bytes = sizeof(struct exchange_stamp) },
        { .kind = BULK_BLOCK, .n = INT64_MAX, .n_bytes = UINT32_MAX },
        { .kind = BULK_BLOCK, .n = -1, .n_bytes = sizeof(struct exchange_stamp) - 1 },
        { .kind = BULK_BLOCK, .index = BULK_GONE, .n_bytes = 8 },
        { .kind = BULK_BLOCK, .index = 3 },
        { .kind = BULK_BLOCK, .index = -1 },
        { .kind = BULK_ASK, .n = 1, .n_bytes = 31 },
        { .kind = BULK_ASK, .n = BULK_PART_BYTES_MAX + 1, .n_bytes = 32 },
        { .kind = BULK_ASK, .n = 1, .offset = -1, .n_bytes = 32 },
        { .kind = BULK_PART, .n = 5, .n_bytes = 6 },
        { .kind = BULK_PART, .n = BULK_PART_BYTES_MAX + 1, .n_bytes = BULK_PART_BYTES_MAX + 1 },
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(look(&bad[i]), CLUSTER_FRAME_BAD);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct bulk_head head = good[i];
        head.zero = 1;
        assert_int_equal(look(&head), CLUSTER_FRAME_BAD);
    }
}

static void a_hello_is_seen_at_its_first_wrong_byte(void **state)
{
    (void)state;
    for (size_t wrong = 0; wrong <= BULK_HELLO_BYTES; wrong++) {
        unsigned char bytes[BULK_HELLO_BYTES];
        uint32_t version = 0;
        enum cluster_frame_found found = CLUSTER_FRAME_PARTIAL;
        struct evbuffer *in = evbuffer_new();
        assert_true(bulk_frame_write_hello(in));
        assert_int_equal(evbuffer_remove(in, bytes, sizeof bytes), sizeof bytes);
        if (wrong < sizeof bytes)
            bytes[wrong] ^= 1;
        for (size_t n = 0; n < sizeof bytes && found == CLUSTER_FRAME_PARTIAL; n++) {
            assert_int_equal(evbuffer_add(in, &bytes[n], 1), 0);
            found = bulk_frame_take_hello(in, &version);
            assert_true(found != CLUSTER_FRAME_BAD || (n >= wrong && (n == wrong || n == 15)));
        }
        bool is_version = wrong >= 8 && wrong < 12;
        assert_int_equal(found, wrong == sizeof bytes || is_version ? CLUSTER_FRAME_WHOLE
                                                                    : CLUSTER_FRAME_BAD);
        assert_true(found == CLUSTER_FRAME_BAD || (version == BULK_VERSION) == !is_version);
        evbuffer_free(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_read),
        cmocka_unit_test(heads_that_no_sender_writes_are_refused),
        cmocka_unit_test(a_hello_is_seen_at_its_first_wrong_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
