/* Scores in a body: what is put in is read again, and no row touches another. */
#include "engine/scores.h"
#include "test.h"

#include "base/mem.h"
#include "engine/bodies.h"
#include <string.h>

static struct token_logprobs score_of(int32_t position, int32_t n_top)
{
    struct token_logprobs score = { .logprob = -0.5F * (float)position, .n_top = n_top };
    for (int32_t i = 0; i < n_top; i++) {
        score.top_ids[i] = 100 * position + i;
        score.top_logprobs[i] = -(float)i;
    }
    return score;
}

static void rows_are_apart(void **state)
{
    enum { N_PROMPT = 9 };
    (void)state;
    for (int32_t n_top = 0; n_top <= LIMIT_TOP_LOGPROBS; n_top += 5) {
        size_t n_bytes = (size_t)engine_scores_bytes(N_PROMPT, n_top);
        unsigned char *memory = mem_take(n_bytes + 8);
        struct engine_scores *scores = (void *)memory;
        memset(memory + n_bytes, 0x5A, 8);
        engine_scores_init(scores, n_top);
        assert_true(scores->n_known == 1 && scores->n_said == 1);
        for (int32_t p = N_PROMPT - 1; p >= 1; p--) {
            struct token_logprobs score = score_of(p, n_top);
            engine_scores_put(scores, p, &score);
        }
        for (int32_t p = 1; p < N_PROMPT; p++) {
            struct token_logprobs want = score_of(p, n_top), read;
            engine_scores_read(scores, p, &read);
            assert_memory_equal(&read, &want, sizeof want);
        }
        for (int i = 0; i < 8; i++)
            assert_int_equal(memory[n_bytes + (size_t)i], 0x5A);
        mem_give(memory);
    }
    assert_int_equal(engine_scores_bytes(0, 20), 0);
}

/* A prompt whose scores fit no body is known before it is taken. */
static void the_most_bytes_are_known(void **state)
{
    struct request_body body = { .n_bytes = sizeof body, .sampling = { .n_top_scores = 20 } };
    struct engine_bodies *bodies = engine_bodies_open(4, 3 << 16);
    (void)state;
    assert_int_equal(engine_bodies_bytes_max(bodies), 2 << 16);
    struct engine_bodies_room room = { 10, 10 };
    while (engine_bodies_bytes(&body, room) <= engine_bodies_bytes_max(bodies))
        room.n_scored++;
    assert_int_equal(engine_bodies_take(bodies, &body, room), 0);
    room.n_scored--;
    uint32_t handle = engine_bodies_take(bodies, &body, room);
    assert_true(handle != 0 && engine_bodies_at(bodies, handle).scores != NULL);
    engine_bodies_put(bodies, handle);
    room.n_scored = 0;
    handle = engine_bodies_take(bodies, &body, room);
    assert_null(engine_bodies_at(bodies, handle).scores);
    engine_bodies_close(bodies);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_are_apart),
                                        cmocka_unit_test(the_most_bytes_are_known) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
