/* Requests move between engines with their KV. Whatever happens to a hand-over, an answer is the
 * one that a single engine gives, and both sides get all of their blocks back. */
#include "../test.h"
#include "base/time.h"
#include "handover_scene.h"

static int64_t sum(int64_t a, int64_t b, int64_t c)
{
    return a + b + c;
}

static void a_request_continues_on_another_engine(void **state)
{
    (void)state;
    handover = (struct handover_scene){ .swap_bytes = 1 << 20 };
    handover_open(1);
    handover_run(0);
    int64_t n_handed = sum(0, handover.parts[1].n_handed, handover.parts[2].n_handed);
    assert_true(handover.parts[0].n_kept > 0 && n_handed == handover.parts[0].n_kept &&
                handover.n_blocks > 0);
    assert_int_equal(handover.parts[1].n_lost + handover.parts[2].n_lost, 0);
    handover = (struct handover_scene){ .swap_bytes = 1 << 20, .has_prefix_cache = true };
    handover_open(2);
    handover_run(5); /* slices */
    assert_true(handover.parts[1].n_handed + handover.parts[2].n_handed > handover.parts[0].n_kept);
}

/* Any wrong word of the stamp, and any wrong byte, voids the hand-over. */
static void what_does_not_match_is_computed_again(void **state)
{
    (void)state;
    for (int word = 0; word <= HANDOVER_STAMP_WORDS; word++) {
        handover =
            (struct handover_scene){ .swap_bytes = 1 << 20, .spoil_one = 1, .spoil_word = word };
        handover_open(3);
        handover_run(0);
        assert_true(handover.n_spoiled > 0 && handover.parts[0].n_kept > 0);
        assert_int_equal(handover.parts[1].n_handed + handover.parts[2].n_handed, 0);
        assert_int_equal(handover.parts[1].n_lost + handover.parts[2].n_lost,
                         handover.parts[0].n_kept);
    }
}

/* Blocks are lost, late and spoiled, engines are killed and drained, clients leave. */
static void nothing_is_lost_in_chaos(void **state)
{
    int64_t n_handed = 0, n_lost = 0, n_kept = 0;
    (void)state;
    for (uint64_t seed = 100; seed < 160; seed++) {
        handover = (struct handover_scene){ .swap_bytes = seed % 4 == 0 ? 3000 : 1 << 18,
                                            .spoil_one = 40,
                                            .delay_one = 6,
                                            .lose_one = 40,
                                            .spoil_word = -1,
                                            .has_prefix_cache = seed % 2 == 0 };
        handover_open(seed);
        handover_run_chaos(seed % 3 > 0);
        for (int i = 0; i < HANDOVER_ENGINES; i++) {
            n_kept += handover.parts[i].n_kept;
            n_handed += handover.parts[i].n_handed;
            n_lost += handover.parts[i].n_lost;
        }
    }
    print_message("%lld kept, %lld handed over, %lld computed again\n", (long long)n_kept,
                  (long long)n_handed, (long long)n_lost);
    assert_true(n_handed > 1000 && n_lost > 100 && n_kept > n_handed);
}

/* Without an acknowledgement the source holds its blocks for ten seconds. */
static void an_offer_expires(void **state)
{
    (void)state;
    handover = (struct handover_scene){ .swap_bytes = 1 << 20 };
    handover_open(4);
    for (int i = 1; i < HANDOVER_CLIENTS; i++)
        handover.clients[i].is_over = true;
    handover.clients[0].request.n_prompt = handover.clients[0].n_got;
    handover_send(&handover.clients[0], 0, 1);
    while (handover.clients[0].engine >= 0)
        handover_step();
    handover.clients[0].is_over = true;
    int64_t kept_ns = handover.clock_ns;
    assert_true(engine_keeps_kv(handover.parts[0].engine));
    while (engine_keeps_kv(handover.parts[0].engine))
        handover_step();
    assert_true(handover.clock_ns - kept_ns > 9 * TIME_NS_PER_S &&
                handover.clock_ns - kept_ns < 11 * TIME_NS_PER_S);
    handover_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_continues_on_another_engine),
        cmocka_unit_test(what_does_not_match_is_computed_again),
        cmocka_unit_test(nothing_is_lost_in_chaos),
        cmocka_unit_test(an_offer_expires),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
