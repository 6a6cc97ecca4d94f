/* shoal config: checks a configuration as `serve` would, and describes all keys. */
#include "base/mem.h"
#include "cmd/gpu.h"
#include "cmd/verbs.h"
#include "config/chosen.h"
#include "config/options.h"
#include "config/policies.h"
#include "config/print.h"
#include "serve/file.h"
#include "serve/kv.h"
#include "serve/model.h"
#include "serve/place.h"
#include "serve/recorders.h"
#include "serve/settings.h"
#include "weights/weights.h"
#include <stdio.h>
#include <string.h>

struct check {
    struct config config;
    int n_wrong;
};

/* Says what is wrong, if anything is. */
static bool is_fine(struct check *check, enum status status, const struct fault *fault)
{
    if (status == STATUS_OK)
        return true;
    fprintf(stderr, "shoal: %s\n", fault->text);
    check->n_wrong++;
    return false;
}

/* Assumes a machine with the most cores and bytes, since the real ones depend on the machine that
 * serves. */
static void check_placement(struct check *check)
{
    const struct config *config = &check->config;
    struct serve_machine *machine = mem_take(sizeof *machine);
    struct serve_placement *placement = mem_take(sizeof *placement);
    struct fault fault;
    *machine =
        (struct serve_machine){ .n_units = 1,
                                .n_nodes = 1,
                                .n_cores = DEVICE_CORES_MAX,
                                .node_first = { 0, 1 },
                                .first = { 0, DEVICE_CORES_MAX },
                                .memory_bytes = config->memory_bytes > 0 ? config->memory_bytes
                                                                         : INT64_MAX / 2 };
    for (int32_t i = 0; i < DEVICE_CORES_MAX; i++)
        machine->cores[i] = i;
    (void)is_fine(check, serve_place_given(config, machine, placement, &fault), &fault);
    mem_give(placement);
    mem_give(machine);
}

/* Prints the GPUs that the settings name, if this machine has them. It need not be the one that
 * serves, so a missing one is no fault. */
static void print_gpus(const struct config *config)
{
    struct fault fault = { "" };
    struct gpu_facts facts;
    bool is_auto = config_devices_are_auto(config);
    int32_t n = is_auto ? gpu_count(&fault) : config->n_devices;
    if (is_auto && n == 0)
        printf("devices auto: this machine computes on CPUs: %s\n", fault.text);
    for (int32_t i = 0; i < n; i++) {
        struct device_spec *spec = mem_take(sizeof *spec);
        if (is_auto)
            *spec = (struct device_spec){ .kind = DEVICE_CUDA, .n_cores = 1, .cores = { i } };
        if (is_auto ||
            device_parse(config->devices[i], DEVICE_CORES_MAX, spec, &fault) == STATUS_OK) {
            if (spec->kind == DEVICE_CUDA && gpu_look(spec->cores[0], &facts))
                printf("cuda:%d: %s, %.1f GiB\n", (int)spec->cores[0], facts.name,
                       (double)facts.memory_bytes * 0x1p-30);
            else if (spec->kind == DEVICE_CUDA)
                printf("cuda:%d: this machine has no such GPU\n", (int)spec->cores[0]);
        }
        mem_give(spec);
    }
}

/* Checks each model, with a sentence of its own, then whether the KV of all fits. */
static void check_models(struct check *check)
{
    const struct config *config = &check->config;
    struct kv_shape shapes[LIMIT_MODELS];
    struct serve_kv kv;
    struct fault fault;
    int n_wrong = check->n_wrong, n_absent = 0;
    for (int i = 0; i < config->n_models; i++) {
        const struct config_model *model = &config->models[i];
        struct weights *weights;
        struct model_card card;
        struct predict_profile profile;
        struct fault inner;
        struct serve_file file;
        enum status status = serve_file_check(&file, config, model, &inner);
        if (status == STATUS_NOT_FOUND) {
            printf("model %s: its file is fetched at the start, so it is not checked here\n",
                   model->name);
            n_absent++;
            continue;
        }
        struct config_model local = *model;
        local.path = file.path;
        if (status == STATUS_OK)
            status = serve_model_open(config, &local, &weights, &card, &profile, &inner);
        serve_file_close(&file);
        if (status != STATUS_OK) {
            fprintf(stderr, "shoal: model %s: %s\n", model->name, inner.text);
            check->n_wrong++;
            continue;
        }
        shapes[i] = serve_kv_shape(&card.spec, serve_kv_dtype(config, model, &card.spec));
        model_card_close(&card);
        predict_profile_free(&profile);
        weights_close(weights);
    }
    if (check->n_wrong > n_wrong || n_absent > 0)
        return;
    struct chosen chosen;
    chosen_of(config, &chosen);
    /* 0: the machine that serves decides, and the units are the smallest. */
    int64_t pool_bytes = max_i64(config->memory_bytes, config->kv_bytes);
    (void)is_fine(check, serve_kv_choose(config, chosen.kv_kind, pool_bytes, shapes, &kv, &fault),
                  &fault);
}

static int check_all(int argc, char **argv)
{
    const struct serve_words words = {
        .doc = "Checks what `shoal serve` would be given in these words, and the files that are "
               "named there, without starting anything.",
        .argc = argc,
        .argv = argv,
    };
    struct check *check = mem_take(sizeof *check);
    struct config *config = &check->config;
    struct fault fault;
    if (is_fine(check, serve_settings_read(config, &words, false, &fault), &fault)) {
        (void)is_fine(check, serve_settings_read_keys(config, false, &fault), &fault);
        if (is_fine(check, serve_settings_check(config, &fault), &fault)) {
            (void)is_fine(check, recorders_check(config, &fault), &fault);
            if (config->placement != NULL)
                check_placement(check);
            print_gpus(config);
            check_models(check);
        }
    }
    if (check->n_wrong == 0)
        printf("%s: fine, %d model%s\n", argv[1][0] != '-' ? argv[1] : "these settings",
               config->n_models, config->n_models == 1 ? "" : "s");
    int code = check->n_wrong == 0 ? 0 : 1;
    config_free(config);
    mem_give(check);
    return code;
}

static int print(void (*what)(struct str *out))
{
    struct str out;
    str_init(&out);
    what(&out);
    printf("%s%s", out.at, out.n > 0 && out.at[out.n - 1] == '\n' ? "" : "\n");
    str_free(&out);
    return 0;
}

int verbs_config(int argc, char **argv)
{
    const char *plain[1];
    int n_plain;
    const struct options_verb verb = {
        .doc = "Checks a configuration and the files that it names, prints the JSON Schema of one, "
               "a table of its keys, or tables of all policies. `check` takes all that `shoal "
               "serve` takes.",
        .arguments = "check FILE\nschema\nkeys\npolicies",
        .n_min = 1,
        .n_max = 1,
    };
    if (argc > 2 && strcmp(argv[1], "check") == 0) {
        char name[] = "shoal config check";
        argv[1] = name;
        return check_all(argc - 1, argv + 1);
    }
    if (!config_options_parse(&verb, argc, argv, NULL, plain, &n_plain))
        return 2;
    if (strcmp(plain[0], "schema") == 0)
        return print(config_print_schema);
    if (strcmp(plain[0], "keys") == 0)
        return print(config_print_keys);
    if (strcmp(plain[0], "policies") == 0)
        return print(config_policies_print);
    fprintf(stderr, "shoal config: expected check FILE, schema, keys or policies\n");
    return 2;
}
