/* Fuzzes the configuration: reads it as a file, its last line also as the command line's words, and
 * checks it. Accepted values are within their limits. */
#include "config/config.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_config(const struct config *config)
{
    struct fault fault = { { 0 } };
    CHECK(config->n_models >= 0 && config->n_models <= LIMIT_MODELS);
    CHECK(config->n_devices >= 0 && config->n_devices <= LIMIT_DEVICES);
    CHECK(config->n_requests_max >= 1 && config->n_batch_max >= 1);
    for (int i = 0; i < config->n_models; i++) {
        const struct config_model *model = &config->models[i];
        CHECK(model->path && *model->path && strlen(model->name) < LIMIT_NAME_BYTES);
        CHECK(model->n_aliases <= CONFIG_ALIASES && model->n_devices <= LIMIT_DEVICES);
        for (int a = 0; a < model->n_aliases; a++)
            CHECK(*model->aliases[a]);
    }
    CHECK(config_check(config, &fault) == STATUS_OK || fault.text[0] != '\0');
}

/* "key value", and "name=path". */
static void take_words(struct config *config, char *words)
{
    struct fault fault = { { 0 } };
    char *space = strchr(words, ' ');
    if (config_add_model(config, words, &fault) != STATUS_OK)
        CHECK(strncmp(fault.text, "--model ", 8) == 0 ||
              strncmp(fault.text, "more than ", 10) == 0);
    if (space) {
        *space = '\0';
        CHECK(config_set(config, words, space + 1, &fault) == STATUS_OK || fault.text[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct config config; /* large */
    struct fault fault = { { 0 } };
    char words[256];
    size_t n_words = 0;
    while (n_words < n && n_words + 1 < sizeof words && bytes[n - n_words - 1] != '\n')
        n_words++;
    if (n_words > 0)
        memcpy(words, bytes + n - n_words, n_words);
    words[n_words] = '\0';
    setenv("FUZZ", "fuzz", 1);
    config_init(&config);
    CHECK(config_read_environment(&config, &fault) == STATUS_OK);
    if (config_parse(&config, "fuzz.yaml", (const char *)bytes, n, &fault) == STATUS_OK)
        check_config(&config);
    else
        CHECK(strncmp(fault.text, "fuzz.yaml:", 10) == 0 && strlen(fault.text) > 12);
    take_words(&config, words);
    config_free(&config);
    return 0;
}
