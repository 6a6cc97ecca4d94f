/* shoal fetch: brings a model's file from a store before a server needs it. */
#include "remote/fetch.h"

#include "base/mem.h"
#include "config/options.h"
#include "serve/file.h"
#include <stdio.h>

static const char doc[] =
    "Fetches a model's file from a store or other nodes into model_cache, and prints its path. A "
    "server that has the same "
    "address and sha256 in its configuration finds it there. A call that was interrupted is gone "
    "on with.";

int remote_fetch_run(int argc, char **argv)
{
    struct config *config = mem_take(sizeof *config);
    struct config_model model = { .name = "" };
    struct serve_file file;
    struct fault fault;
    int n_plain;
    const struct options_extra extras[] = {
        { "sha256", "what the file has to be, 64 hexadecimal digits", &model.sha256, true },
    };
    const struct options_verb verb = {
        .doc = doc,
        .arguments = "URL",
        .has_config = true,
        .keys = "model_cache model_cache_bytes model_rate model_stall model_ca model_manifest "
                "model_peers bulk_names bus_cert bus_key bus_ca",
        .n_min = 1,
        .n_max = 1,
        .extras = extras,
        .n_extras = (int)COUNT_OF(extras),
    };
    config_init(config);
    enum status status = config_read_environment(config, &fault);
    if (status == STATUS_OK &&
        !config_options_parse(&verb, argc, argv, config, &model.path, &n_plain)) {
        config_free(config);
        mem_give(config);
        return 2;
    }
    if (status == STATUS_OK && !fetch_is_url(model.path))
        status = fault_set(&fault, STATUS_BAD_INPUT,
                           "\"%.100s\" is no http://, https:// or peer:// address", model.path);
    if (status == STATUS_OK)
        status = serve_file_open(&file, config, &model, &fault);
    if (status == STATUS_OK) {
        printf("%s\n", file.path);
        serve_file_close(&file);
    } else {
        fprintf(stderr, "shoal: %s\n", fault.text);
    }
    config_free(config);
    mem_give(config);
    return status == STATUS_OK ? 0 : status == STATUS_BAD_INPUT ? 2 : 1;
}
