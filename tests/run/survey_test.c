/* Surveys: their points, the held-out ones, and a model beside itself. No times are compared. */
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "run/survey.h"

static struct compute_device *device;
static struct run_model model;

/* Lane 0 has the core, and so have lanes 1 and 2 here: one is enough to run them. */
static int open_model(void **state)
{
    static const struct device_spec spec = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { 0 } };
    struct weights *weights;
    struct fault fault;
    (void)state;
    assert_int_equal(weights_open(&weights, SOURCE_ROOT "/models/tale.gguf", &fault), STATUS_OK);
    device = cpu_open(&spec, cpu_isa_best());
    for (int i = 0; i < 2; i++)
        cpu_add_lane(device, &spec);
    const struct run_model_options load = { .device = device, .kv_dtype = DTYPE_F16 };
    assert_int_equal(run_model_open(&model, weights, &load, &fault), STATUS_OK);
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    run_model_close(&model);
    device->close(device->self);
    return 0;
}

/* Every pass of the grid once, a fifth of them held out, all of them measured, none twice. */
static void a_survey_measures_the_grid(void **state)
{
    (void)state;
    const struct run_survey_options options = { 50 * TIME_NS_PER_MS, 8, 64, 128 };
    struct predict_profile_group *group = mem_take(sizeof *group);
    struct fault fault;
    int n_decodes = 0, n_prompts = 0, n_behind = 0;
    run_survey(&model, &options, group);
    assert_true(group->n_samples >= 24 && group->n_held == (group->n_samples + 1) / 5);
    for (int i = 0; i < group->n_samples; i++) {
        const struct perf_load *l = &group->samples[i].load;
        assert_true(group->samples[i].ps > 0 && l->n_decodes <= 8 && l->n_new <= 64);
        n_decodes += l->n_decodes > 0;
        n_prompts += l->n_new > 0;
        n_behind += l->n_new_context > 0;
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(l, &group->samples[k].load, sizeof *l);
    }
    assert_true(n_decodes > 12 && n_prompts > 4 && n_behind > 0);
    assert_int_equal(n_decodes + n_prompts, group->n_samples);
    assert_int_equal(predict_profile_fit(group, &fault), STATUS_OK);
    mem_give(group);
}

/* No pass is faster beside others, and all of them end. */
static void beside_itself_a_model_is_not_faster(void **state)
{
    (void)state;
    const struct run_survey_options options = { 5 * TIME_NS_PER_MS, 4, 32, 64 };
    struct predict_profile_beside beside;
    run_survey_beside(&model, &options, &beside);
    assert_true(beside.n_rounds >= 3);
    for (int i = 0; i < 4; i++)
        assert_true(beside.factors[i / 2][i % 2] >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_survey_measures_the_grid),
        cmocka_unit_test(beside_itself_a_model_is_not_faster),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
