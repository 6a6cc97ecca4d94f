/* Achieved over peak, by hand: a small model, two requests, ten batches. */
#include "../test.h"
#include "predict/device.h"
#include "report/peak.h"

static void by_hand(void **state)
{
    /* 1 layer of width 4, 1 head of 4, ffn 8, not gated: 4 (4 * 16 + 2 * 32) ... per token. */
    const struct predict_model model = { .name = "tiny",
                                         .n_layers = 1,
                                         .width = 4,
                                         .n_heads = 1,
                                         .n_kv_heads = 1,
                                         .head_dim = 4,
                                         .ffn_width = 8,
                                         .n_vocabulary = 10 };
    static struct scenario_world world;
    struct record records[2] = {
        { .n_prompt = 3, .n_output = 3, .why = RECORD_LENGTH },
        { .n_prompt = 4, .n_cached = 2, .n_output = 1, .why = RECORD_LENGTH },
    };
    const struct record_set set = { .at = records, .n = 2, .n_services = 1 };
    struct sim_service_report service = { .n_batches = 10 };
    const struct sim_report report = { .n_services = 1, .services = &service };
    struct report_peak peak;
    (void)state;
    world.workload.n_services = 1;
    world.models[0] = &model;
    world.services[0].bytes_per_token = 16;
    world.services[0].weights_bytes = 100;
    world.flops_per_s = 1000;
    world.bytes_per_s = 2000;
    /* Matrices: q, k, v, o of 4 x 4, up and down of 4 x 8: 128 weights, 256 operations a token;
     * attention: 2 * 2 * 4 = 16 a pair. */
    assert_true(predict_model_flops_per_token(&model) == 256);
    assert_true(predict_model_flops_per_pair(&model) == 16);
    report_peak_of(&world, &set, &report, 4, &peak);
    assert_true(peak.is_known);
    /* First: 3 + 2 tokens; pairs 1 + 2 + 3, then 4 + 5. Second: 2 tokens, pairs 3 + 4. */
    assert_true(peak.flops == 256 * (5 + 2) + 16 * (15 + 7));
    /* Weights by each batch; the first reads 4 + 5 positions behind its prompt. */
    assert_true(peak.bytes == 10 * 100 + 16 * 9);
    assert_true(peak.compute == peak.flops / 4000 && peak.memory == peak.bytes / 8000);
    report_peak_of(&world, &set, &report, 0, &peak);
    assert_false(peak.is_known);
    world.models[0] = NULL;
    report_peak_of(&world, &set, &report, 4, &peak);
    assert_false(peak.is_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
