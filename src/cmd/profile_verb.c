/* shoal profile: measures a model on this machine, for each group of cores, and writes the profile.
 */
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/gpu.h"
#include "cmd/verbs.h"
#include "config/chosen.h"
#include "config/options.h"
#include "cpu/cpu.h"
#include "predict/profile.h"
#include "run/profile_log.h"
#include "run/sums.h"
#include "run/survey.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char doc[] =
    "Measures a model on this machine: prompts and decode batches over a grid, for one core, two, "
    "four and so on up to all, and fits the performance model that schedulers and simulations "
    "reckon with. A fifth of the points is held out, to state how far predictions are. With "
    "--device "
    "cuda:0 it measures on that GPU instead, all of it, and on one half beside the other. With "
    "--from "
    "the points "
    "are the batches of a server that ran, by its engine's log. Without "
    "--out the profile goes to standard output.";

enum { BESIDE_PART_OF = 4, SUMS_PART_OF = 20 }; /* of a group's time */

static double seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

struct source {
    const char *path;
    const char *device; /* a GPU; NULL: this machine's cores */
    enum dtype kv_dtype;
};

/* Describes the model's file. Close the weights when it is OK. */
static enum status describe_model(const struct source *from, struct predict_profile *profile,
                                  struct weights **weights, struct fault *fault)
{
    enum status status = weights_open(weights, from->path, fault);
    if (status != STATUS_OK)
        return status;
    snprintf(profile->model, sizeof profile->model, "%s", weights_card(*weights)->name);
    profile->weights_hash = weights_hash(*weights);
    status = model_spec_check_kv(weights_spec(*weights), profile->model, from->kv_dtype, fault);
    if (status != STATUS_OK) {
        weights_close(*weights);
        return status;
    }
    const struct model_spec *spec = weights_spec(*weights);
    profile->kv_bytes_per_token = model_spec_kv_bytes_per_token(spec, from->kv_dtype);
    profile->group = (struct predict_group){ .n_layers = spec->n_layers, .width = spec->width };
    return status;
}

static enum status load_model(const struct source *from, struct compute_device *device,
                              struct run_model *model, struct fault *fault)
{
    const struct run_model_options options = { .device = device, .kv_dtype = from->kv_dtype };
    struct weights *weights;
    enum status status = weights_open(&weights, from->path, fault);
    return status == STATUS_OK ? run_model_open(model, weights, &options, fault) : status;
}

/* The device is open also after a fault, unless it is a GPU that can't be opened (NULL). */
static enum status open_model(const struct source *from, struct device_spec *spec,
                              struct compute_device **device, struct run_model *model,
                              struct fault *fault)
{
    enum status status = STATUS_OK;
    *device = NULL;
    if (spec->kind == DEVICE_CUDA)
        status = gpu_open(spec, spec, 1, device, fault);
    else
        *device = cpu_open(spec, cpu_isa_best());
    return status == STATUS_OK ? load_model(from, *device, model, fault) : status;
}

/* Profiles one group: the first n_cores of `all`, with the model packed anew for it. */
static enum status profile_group(const struct source *from, const struct device_spec *all,
                                 int32_t n_cores, const struct run_survey_options *plan,
                                 struct predict_profile *profile, struct fault *fault)
{
    struct device_spec *spec = mem_take(sizeof *spec);
    struct compute_device *device;
    struct run_model model;
    struct predict_profile_group *group = &profile->groups[profile->n_groups++];
    *spec = *all;
    spec->n_cores = n_cores;
    enum status status = open_model(from, spec, &device, &model, fault);
    if (status == STATUS_OK) {
        snprintf(profile->arithmetic, sizeof profile->arithmetic, "%s", device->name);
        device_print(spec, group->device, sizeof group->device);
        group->n_cores = n_cores;
        group->share = (double)n_cores / all->n_cores;
        profile->weights_bytes = model.weights_bytes;
        profile->activation_bytes =
            run_model_activation_bytes(&model, plan->n_prompt_max, plan->n_batch_max);
        run_survey(&model, plan, group);
        run_model_close(&model);
        status = predict_profile_fit(group, fault);
    }
    if (device != NULL)
        device->close(device->self);
    mem_give(spec);
    return status;
}

/* Makes a profile from an engine's log. It is for the first n_cores, since the log does not have
 * the cores. */
static enum status profile_of_log(const struct source *from, const char *log, const char *service,
                                  int32_t n_cores, struct predict_profile *profile,
                                  struct fault *fault)
{
    struct device_spec *spec = mem_take(sizeof *spec);
    struct cpu_topology *topology = mem_take(sizeof *topology);
    struct predict_profile_group *group = mem_take(sizeof *group);
    struct compute_device *device;
    struct weights *weights;
    int64_t n_batches = 0;
    profile->groups = group;
    profile->n_groups = 1;
    enum status status = cpu_topology_read(NULL, topology, fault);
    if (status == STATUS_OK)
        status = describe_model(from, profile, &weights, fault);
    if (status == STATUS_OK) {
        cpu_topology_device(topology, -1, spec);
        spec->n_cores = n_cores > 0 ? min_i32(n_cores, spec->n_cores) : spec->n_cores;
        device_print(spec, group->device, sizeof group->device);
        group->n_cores = n_cores > 0 ? n_cores : spec->n_cores;
        if (group->n_cores > spec->n_cores) /* another machine's log */
            snprintf(group->device, sizeof group->device, "cpu, %d cores", group->n_cores);
        group->share = 1;
        device = cpu_open(spec, cpu_isa_best());
        snprintf(profile->arithmetic, sizeof profile->arithmetic, "%s", device->name);
        profile->weights_bytes = run_model_packed_bytes(weights, device);
        status =
            profile_log_read(log, service ? service : profile->model, group, &n_batches, fault);
        for (int i = 0; i < group->n_samples; i++) {
            const struct perf_load *l = &group->samples[i].load;
            profile->n_batch_max = max_i32(profile->n_batch_max, l->n_decodes);
            profile->n_prompt_max = max_i32(profile->n_prompt_max, l->n_new);
        }
        profile->activation_bytes = run_model_peak_bytes(
            weights, device, max_i32(profile->n_prompt_max, 1), max_i32(profile->n_batch_max, 1));
        device->close(device->self);
        weights_close(weights);
        if (status == STATUS_OK)
            fprintf(stderr, "%lld batches of the log are %d points\n", (long long)n_batches,
                    group->n_samples);
    }
    mem_give(topology);
    mem_give(spec);
    return status;
}

/* Opens the device with two lanes beside lane 0: the first two cores, or the halves of a GPU. */
static enum status open_halves(const struct device_spec *all, struct compute_device **device,
                               struct fault *fault)
{
    enum { LANES = 3 };
    struct device_spec *lanes = mem_take(sizeof *lanes * LANES);
    enum status status = STATUS_OK;
    for (int i = 0; i < LANES; i++) {
        lanes[i] = *all;
        lanes[i].n_cores = 1;
    }
    if (all->kind == DEVICE_CUDA) {
        status = gpu_open(&lanes[0], lanes, LANES, device, fault);
    } else {
        lanes[0].n_cores = 2;
        *device = cpu_open(&lanes[0], cpu_isa_best());
        for (int i = 1; i < LANES; i++) {
            lanes[i].cores[0] = all->cores[i - 1];
            cpu_add_lane(*device, &lanes[i]);
        }
    }
    mem_give(lanes);
    return status;
}

/* Measures on one lane while the other computes the same model too. A GPU that its driver does not
 * divide is measured alone. */
static enum status profile_beside(const struct source *from, const struct device_spec *all,
                                  const struct run_survey_options *plan,
                                  struct predict_profile *profile, struct fault *fault)
{
    struct run_survey_options options = *plan;
    struct compute_device *device = NULL;
    struct run_model model;
    options.budget_ns /= BESIDE_PART_OF;
    enum status status = open_halves(all, &device, fault);
    if (status == STATUS_UNSUPPORTED) {
        fprintf(stderr, "nothing is measured side by side: %s\n", fault->text);
        return STATUS_OK;
    }
    if (status == STATUS_OK)
        status = load_model(from, device, &model, fault);
    if (status == STATUS_OK) {
        run_survey_beside(&model, &options, &profile->beside);
        run_model_close(&model);
    }
    if (device != NULL)
        device->close(device->self);
    return status;
}

/* Returns the most memory that this process ever had, as the system counts it. */
static int64_t peak_bytes(void)
{
    char line[128];
    long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoll(line + 6, NULL, 10);
    if (file)
        fclose(file);
    return kib * 1024;
}

static void print_errors(const char *what, const struct perf_errors *fit,
                         const struct perf_errors *held)
{
    printf("  %-8s %3d points, off by %.1f%% on average; of %d held out %.1f%%, at most %.1f%%; "
           "within %.2f and %.2f of the prediction should lie 90%%: of those held out %.0f%% do\n",
           what, fit->n, 100 * fit->mean_abs, held->n, 100 * held->mean_abs, 100 * held->worst,
           fit->low, fit->high, 100 * held->within);
}

static void print_text(const struct predict_profile *p)
{
    const double mib = 1.0 / 1048576;
    printf("model        %s (%s)\nweights      %.1f MiB, activations %.1f MiB, KV %lld bytes a "
           "token; the process had %.1f MiB at most\n",
           p->model, p->arithmetic, (double)p->weights_bytes * mib,
           (double)p->activation_bytes * mib, (long long)p->kv_bytes_per_token,
           (double)p->peak_bytes * mib);
    for (int32_t i = 0; i < p->n_groups; i++) {
        const struct predict_profile_group *g = &p->groups[i];
        const struct perf *f = &g->perf;
        printf("%-12s %d core%s, share %.2f\n", g->device, g->n_cores, g->n_cores > 1 ? "s" : "",
               g->share);
        printf("  prefill  max(%.3f, %.3f + %.4f i + %.4g i^2 / 1024) ms\n",
               (double)f->floor_ps * 1e-9, (double)f->c1_ps * 1e-9, (double)f->k1_ps * 1e-9,
               (double)f->q1_ps * 1e-9);
        for (int r = 0; r < (f->b_switch < INT32_MAX ? 2 : 1); r++)
            printf("  decode   %.3f + %.4f b + %.3g C ms%s\n", (double)f->c3_ps[r] * 1e-9,
                   (double)f->c2_ps[r] * 1e-9, (double)f->k2_ps[r] * 1e-9,
                   r == 1 ? ", large batches" : "");
        print_errors("prefill", &g->prefill, &g->prefill_held);
        print_errors("decode", &g->decode, &g->decode_held);
    }
    const struct predict_profile_beside *b = &p->beside;
    if (b->n_rounds > 0)
        printf(
            "beside       itself on another lane: prompts take %.2f times as long beside prompts, "
            "%.2f beside decodes; decodes %.2f and %.2f\n",
            b->factors[0][0], b->factors[0][1], b->factors[1][0], b->factors[1][1]);
    printf("hash         %016llx\n", (unsigned long long)predict_profile_hash(p));
}

/* The GPU of the command line, or all cores of this machine. */
static enum status describe_device(const struct source *from, struct device_spec *all,
                                   struct fault *fault)
{
    if (from->device != NULL) {
        enum status parsed = device_parse(from->device, DEVICE_CORES_MAX, all, fault);
        if (parsed == STATUS_OK && all->kind != DEVICE_CUDA)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "--device %s is no GPU, such as cuda:0. All cores of this machine are "
                             "measured without --device",
                             from->device);
        return parsed;
    }
    struct cpu_topology *topology = mem_take(sizeof *topology);
    enum status status = cpu_topology_read(NULL, topology, fault);
    if (status == STATUS_OK)
        cpu_topology_device(topology, -1, all);
    mem_give(topology);
    return status;
}

static enum status profile_model(const struct source *from, struct run_survey_options *plan,
                                 struct predict_profile *profile, struct fault *fault)
{
    struct device_spec *all = mem_take(sizeof *all);
    struct weights *weights;
    enum status status = describe_model(from, profile, &weights, fault);
    if (status == STATUS_OK) {
        const struct model_spec *spec = weights_spec(weights);
        plan->n_context_max = min_i32(plan->n_context_max, spec->n_positions_max / 2);
        plan->n_prompt_max = min_i32(plan->n_prompt_max, spec->n_positions_max);
        weights_close(weights);
        status = describe_device(from, all, fault);
    }
    if (status == STATUS_OK) {
        profile->groups = mem_take(sizeof *profile->groups * PREDICT_PROFILE_GROUPS);
        profile->n_batch_max = plan->n_batch_max;
        profile->n_prompt_max = plan->n_prompt_max;
    }
    for (int32_t n = 1; status == STATUS_OK && n > 0;) {
        if (all->kind == DEVICE_CUDA)
            fprintf(stderr, "measuring on %s, %.0f s at most ...\n", from->device,
                    seconds(plan->budget_ns));
        else
            fprintf(stderr, "measuring on %d of %d cores, %.0f s at most ...\n", n, all->n_cores,
                    seconds(plan->budget_ns));
        status = profile_group(from, all, n, plan, profile, fault);
        n = n == all->n_cores ? 0 : min_i32(2 * n, all->n_cores);
    }
    if (status == STATUS_OK && (all->n_cores > 1 || all->kind == DEVICE_CUDA))
        status = profile_beside(from, all, plan, profile, fault);
    if (status == STATUS_OK && all->kind == DEVICE_CPU)
        status = run_sums(all, plan->budget_ns / SUMS_PART_OF, &profile->group, fault);
    profile->peak_bytes = peak_bytes();
    mem_give(all);
    return status;
}

int verbs_profile(int argc, char **argv)
{
    bool is_json = false;
    const char *plain[1], *out = NULL, *time = NULL, *batch = NULL, *prompt = NULL;
    const char *log = NULL, *service = NULL, *cores = NULL, *kv_type = "f16", *device = NULL;
    int n_plain;
    const struct options_extra extras[] = {
        { "out", "write the profile to this file", &out, true, 'o' },
        { "time", "at most so long for each group of cores: 20s", &time, true, 0 },
        { "batch", "largest decode batch measured: 32", &batch, true, 0 },
        { "prompt", "longest prompt measured: 512", &prompt, true, 0 },
        { "device", "a GPU to measure on, such as cuda:0: this machine's cores", &device, true, 0 },
        { "from", "an engine's log (shoal serve --log-engine): nothing is measured", &log, true,
          0 },
        { "service", "the model's name in that log, else the file's own", &service, true, 0 },
        { "cores", "that the log's engine had: all", &cores, true, 0 },
        { "kv-type", "of cached keys and values: f16, f32, q8_0", &kv_type, true, 0 },
    };
    const struct options_verb verb = { .doc = doc,
                                       .arguments = "MODEL",
                                       .is_json = &is_json,
                                       .n_min = 1,
                                       .n_max = 1,
                                       .extras = extras,
                                       .n_extras = (int)COUNT_OF(extras) };
    struct run_survey_options plan = { .budget_ns = 20 * TIME_NS_PER_S, .n_context_max = 512 };
    int64_t n_batch = 32, n_prompt = 512, n_cores = 0;
    struct fault fault;
    if (!config_options_parse(&verb, argc, argv, NULL, plain, &n_plain))
        return 2;
    if ((time && (!parse_duration_ns(time, &plan.budget_ns) || plan.budget_ns <= 0)) ||
        (cores && (!parse_i64(cores, &n_cores) || n_cores < 1 || n_cores > INT32_MAX)) ||
        (batch && (!parse_i64(batch, &n_batch) || n_batch < 1 || n_batch > LIMIT_BATCH_ITEMS)) ||
        (prompt &&
         (!parse_i64(prompt, &n_prompt) || n_prompt < 16 || n_prompt > LIMIT_BATCH_TOKENS))) {
        fprintf(stderr,
                "shoal: expected --time such as 20s, --batch 1 to %d, --prompt 16 to %d, "
                "--cores of 1 and more\n",
                LIMIT_BATCH_ITEMS, LIMIT_BATCH_TOKENS);
        return 2;
    }
    struct source from = { plain[0], device, DTYPE_F16 };
    if (!chosen_kv_dtype_find(kv_type, &from.kv_dtype)) {
        fprintf(stderr, "shoal: expected --kv-type f16, f32 or q8_0\n");
        return 2;
    }
    plan.n_batch_max = (int32_t)n_batch;
    plan.n_prompt_max = (int32_t)n_prompt;
    struct predict_profile profile = { { 0 } };
    struct str text;
    str_init(&text);
    enum status status = out ? file_may_write(out, &fault) : STATUS_OK;
    if (status == STATUS_OK)
        status = log ? profile_of_log(&from, log, service, (int32_t)n_cores, &profile, &fault)
                     : profile_model(&from, &plan, &profile, &fault);
    if (status == STATUS_OK)
        predict_profile_write(&profile, &text);
    if (status == STATUS_OK && out)
        status = file_write(out, text.at, text.n, &fault);
    if (status != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    else if (is_json || !out)
        printf("%s", text.at);
    else
        print_text(&profile);
    str_free(&text);
    predict_profile_free(&profile);
    return status == STATUS_OK ? 0 : 1;
}
