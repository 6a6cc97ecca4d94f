/* A model's files against its configuration: the demo models, and a profile. */
#include "test.h"

#include "base/file.h"
#include "config/config.h"
#include "serve/model.h"
#include "weights/weights.h"

static const char *source_root;

static enum status open_it(struct config_model *model, struct fault *fault)
{
    struct weights *weights = NULL;
    struct model_card card;
    struct predict_profile profile;
    struct config config;
    fault->text[0] = '\0';
    config_init(&config);
    enum status status = serve_model_open(&config, model, &weights, &card, &profile, fault);
    config_free(&config);
    if (status != STATUS_OK) {
        assert_null(weights);
        return status;
    }
    assert_non_null(card.tokenizer);
    assert_int_equal(profile.n_groups > 0, model->profile != NULL);
    model_card_close(&card);
    predict_profile_free(&profile);
    weights_close(weights);
    return status;
}

static struct config_model model_of(char *path, size_t n_bytes)
{
    struct config_model model = { .name = "tale" };
    snprintf(path, n_bytes, "%s/models/tale.gguf", source_root);
    model.path = path;
    return model;
}

static void context_is_at_most_what_the_model_was_trained_for(void **state)
{
    char path[512];
    struct fault fault;
    struct weights *weights;
    (void)state;
    struct config_model model = model_of(path, sizeof path);
    assert_int_equal(weights_open(&weights, path, &fault), STATUS_OK);
    int32_t n_trained = weights_spec(weights)->n_positions_max;
    weights_close(weights);
    const int64_t fine[] = { 0, 1, n_trained - 1, n_trained };
    for (size_t i = 0; i < COUNT_OF(fine); i++) {
        model.n_context = fine[i];
        assert_int_equal(open_it(&model, &fault), STATUS_OK);
    }
    model.n_context = n_trained + 1;
    assert_int_equal(open_it(&model, &fault), STATUS_TOO_LARGE);
    char sentence[256];
    snprintf(sentence, sizeof sentence,
             "model tale: ctx is %d, and its file says that it was trained for %d tokens (rope "
             "scaling counts where the file has it)",
             n_trained + 1, n_trained);
    assert_string_equal(fault.text, sentence);
}

static void files_that_are_missing_or_broken_are_named(void **state)
{
    char path[512];
    struct fault fault;
    (void)state;
    struct config_model model = model_of(path, sizeof path);
    model.profile = "/nowhere/profile.json";
    assert_int_equal(open_it(&model, &fault), STATUS_NOT_FOUND);
    assert_non_null(strstr(fault.text, "/nowhere/profile.json"));
    model.profile = path; /* not JSON */
    assert_int_not_equal(open_it(&model, &fault), STATUS_OK);
    assert_non_null(strstr(fault.text, "tale.gguf"));
    model.path = "/nowhere/model.gguf";
    assert_int_equal(open_it(&model, &fault), STATUS_NOT_FOUND);
    assert_non_null(strstr(fault.text, "/nowhere/model.gguf"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_is_at_most_what_the_model_was_trained_for),
        cmocka_unit_test(files_that_are_missing_or_broken_are_named),
    };
    source_root = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
