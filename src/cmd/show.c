/* shoal show, version: information that needs no server. */
#include "base/json_out.h"
#include "base/mem.h"
#include "cmd/gpu.h"
#include "cmd/verbs.h"
#include "config/options.h"
#include "cpu/cpu.h"
#include "run/model.h"
#include "serve/model_file.h"
#include "weights/keys.h"
#include "weights/weights.h"
#include <stdio.h>

static const char *position_name(enum position_kind kind)
{
    static const char *const names[] = { "rope (halves)", "rope (pairs)", "learned" };
    return names[kind];
}

/* The memory that a load would book on this machine's processor, or on one of its GPUs, with the
 * usual batches of serve. */
struct need {
    int64_t packed_bytes, peak_bytes, n_rows;
    const char *device; /* a GPU; NULL: the processor */
    struct gpu_facts gpu;
};

static enum status open_device(struct need *need, struct device_spec *spec,
                               const struct cpu_topology *topology, struct compute_device **out,
                               struct fault *fault)
{
    if (need->device == NULL) {
        cpu_topology_device(topology, -1, spec);
        *out = cpu_open(spec, cpu_isa_best());
        return STATUS_OK;
    }
    enum status status = device_parse(need->device, DEVICE_CORES_MAX, spec, fault);
    if (status == STATUS_OK && spec->kind != DEVICE_CUDA)
        status = fault_set(fault, STATUS_BAD_INPUT, "--device %.60s is no GPU, such as cuda:0",
                           need->device);
    if (status == STATUS_OK)
        status = gpu_open(spec, spec, 1, out, fault);
    if (status == STATUS_OK)
        (void)gpu_look(spec->cores[0], &need->gpu);
    return status;
}

static enum status read_need(struct weights *w, struct need *need, struct fault *fault)
{
    struct config config;
    struct compute_device *device = NULL;
    struct device_spec *spec = mem_take(sizeof *spec);
    struct cpu_topology *topology = mem_take(sizeof *topology);
    enum status status = cpu_topology_read(NULL, topology, fault);
    if (status == STATUS_OK)
        status = open_device(need, spec, topology, &device, fault);
    if (status == STATUS_OK) {
        config_init(&config);
        need->n_rows = config.n_batch_tokens_max + config.n_batch_max;
        need->packed_bytes = run_model_packed_bytes(w, device);
        need->peak_bytes =
            run_model_peak_bytes(w, device, (int32_t)need->n_rows, (int32_t)config.n_batch_max);
        device->close(device->self);
        config_free(&config);
    }
    mem_give(topology);
    mem_give(spec);
    return status;
}

static void print_kv(const struct model_spec *s, const char *name)
{
    static const enum dtype dtypes[] = { DTYPE_F16, DTYPE_Q8_0 };
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        if (model_spec_check_kv(s, name, dtypes[i], NULL) != STATUS_OK)
            continue;
        int64_t n_bytes = model_spec_kv_bytes_per_token(s, dtypes[i]);
        printf("KV               %lld bytes a token (%s): %.1f MiB for a full context\n",
               (long long)n_bytes, i == 0 ? "f16" : "q8_0",
               (double)n_bytes * (double)s->n_positions_max / 1048576.0);
    }
}

static void print_unknown(const struct weights_unknown *unknown)
{
    if (unknown->n == 0)
        return;
    printf("unknown keys     ");
    for (int32_t i = 0; i < unknown->n; i++)
        printf("%s%s", i > 0 ? ", " : "", unknown->names[i]);
    printf(unknown->n_found > unknown->n ? " and %d more: ignored\n" : ": ignored\n",
           unknown->n_found - unknown->n);
}

static const char *const tokenizer_names[] = {
    [WEIGHTS_TOKENIZER_NONE] = "no tokenizer",
    [WEIGHTS_TOKENIZER_SPM] = "SentencePiece",
    [WEIGHTS_TOKENIZER_BPE] = "BPE",
    [WEIGHTS_TOKENIZER_UNIGRAM] = "Unigram",
    [WEIGHTS_TOKENIZER_WORDPIECE] = "WordPiece",
};

/* Reads why the model's own chat template cannot be used; empty: it can, or there is no
 * template. */
static void read_chat_fault(const struct weights_card *card, struct fault *why)
{
    const struct model_template_options options = { 0 };
    struct chat_template *t;
    struct fault fault;
    (void)!model_template_open(&t, card, &options, why, &fault);
    if (t)
        chat_template_close(t);
}

static void print_template(const struct weights_card *card)
{
    struct fault why;
    read_chat_fault(card, &why);
    if (why.text[0] != '\0')
        printf("chat template    cannot be used: %s\n", why.text);
    else
        printf("chat template    %s\n", card->chat_template ? "yes" : "no");
    for (int32_t i = 0; i < card->n_templates && card->n_templates > 1; i++)
        printf("%s%s%s", i == 0 ? "templates        " : ", ", card->templates[i].name,
               i + 1 == card->n_templates ? "\n" : "");
}

static void print_vectors(const struct model_spec *s)
{
    static const char *const poolings[] = { "last position", "mean of the positions",
                                            "first position" };
    if (s->n_labels > 0)
        printf("task             scores pairs of texts\n");
    else
        printf("task             %s\nembeddings       %d numbers, %s%s\n",
               s->is_encoder ? "embeds texts" : "generates text", s->width, poolings[s->pooling],
               s->is_normalized ? ", normalised" : "");
}

static void print_text(const struct weights *w, const struct need *need)
{
    const struct model_spec *s = weights_spec(w);
    const struct weights_card *card = weights_card(w);
    const double mib = 1.0 / 1048576.0;
    printf("name             %s\nformat           %s\narchitecture     %s\n", card->name,
           weights_format(w), s->architecture);
    printf("parameters       %.1f M\n", (double)s->n_parameters * 1e-6);
    printf("layers           %d of width %d, inner width %d\n", s->n_layers, s->width,
           s->ffn_width);
    if (s->experts.n_experts > 0)
        printf("experts          %d, a token uses %d, inner width %d\n", s->experts.n_experts,
               s->experts.n_used, s->experts.width);
    printf("heads            %d, %d of keys and values, dimension %d\n", s->n_heads, s->n_kv_heads,
           s->head_dim);
    printf("positions        %s, context %d", position_name(s->position), s->n_positions_max);
    if (s->window > 0 && s->n_full_layers > 0)
        printf(", sliding window in %d of %d layers", s->n_layers - s->n_full_layers, s->n_layers);
    else if (s->window > 0)
        printf(", sliding window");
    if (s->rope_scaling.kind == ROPE_SCALING_LONG)
        printf(", %s rope factors", s->rope_scaling.is_long ? "long" : "short");
    if (s->rope_scaling.kind == ROPE_SCALING_YARN)
        printf(", stretched %g times by YaRN", (double)s->rope_scaling.factor);
    printf("\n");
    printf("vocabulary       %d tokens, %s\n", s->n_vocabulary, tokenizer_names[card->tokenizer]);
    print_vectors(s);
    print_template(card);
    printf("weights          %.1f MiB in the file, %.1f MiB in memory\n",
           (double)weights_file_bytes(w) * mib, (double)need->packed_bytes * mib);
    printf("activations      %.1f MiB at most, in batches of %lld tokens\n",
           (double)need->peak_bytes * mib, (long long)need->n_rows);
    if (need->device != NULL)
        printf("device           %s, %s, %.1f GiB\n", need->device, need->gpu.name,
               (double)need->gpu.memory_bytes * 0x1p-30);
    if (!s->is_encoder)
        print_kv(s, card->name);
    print_unknown(weights_unknown_keys(w));
    printf("hash             %016llx\n", (unsigned long long)weights_hash(w));
}

static void add_template(struct json_out *json, const struct weights_card *card)
{
    struct fault why;
    read_chat_fault(card, &why);
    json_out_key_bool(json, "chat_template", card->chat_template != NULL);
    if (why.text[0] != '\0')
        json_out_key_text(json, "chat_template_fault", why.text);
    if (card->n_templates == 0)
        return;
    json_out_key(json, "chat_templates");
    json_out_open(json, '[');
    for (int32_t i = 0; i < card->n_templates; i++)
        json_out_text(json, card->templates[i].name);
    json_out_close(json, ']');
}

static void print_json(const struct weights *w, const struct need *need)
{
    const struct model_spec *s = weights_spec(w);
    const struct weights_card *card = weights_card(w);
    struct json_out json;
    struct str out;
    char hash[32];
    str_init(&out);
    json_out_init(&json, &out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "name", card->name);
    json_out_key_text(&json, "format", weights_format(w));
    json_out_key_text(&json, "architecture", s->architecture);
    json_out_key_i64(&json, "parameters", s->n_parameters);
    json_out_key_i64(&json, "layers", s->n_layers);
    json_out_key_i64(&json, "width", s->width);
    json_out_key_i64(&json, "ffn_width", s->ffn_width);
    json_out_key_i64(&json, "experts", s->experts.n_experts);
    json_out_key_i64(&json, "experts_used", s->experts.n_used);
    json_out_key_i64(&json, "expert_width", s->experts.width);
    json_out_key_i64(&json, "heads", s->n_heads);
    json_out_key_i64(&json, "kv_heads", s->n_kv_heads);
    json_out_key_i64(&json, "head_dim", s->head_dim);
    json_out_key_i64(&json, "context", s->n_positions_max);
    json_out_key_i64(&json, "window", s->window);
    json_out_key_i64(&json, "full_layers", s->n_full_layers);
    json_out_key_i64(&json, "vocabulary", s->n_vocabulary);
    json_out_key_text(&json, "task",
                      s->n_labels > 0 ? "score"
                      : s->is_encoder ? "embed"
                                      : "generate");
    json_out_key_i64(&json, "file_bytes", weights_file_bytes(w));
    json_out_key_i64(&json, "weights_bytes", need->packed_bytes);
    json_out_key_i64(&json, "activation_bytes", need->peak_bytes);
    if (need->device != NULL) {
        json_out_key_text(&json, "device", need->device);
        json_out_key_text(&json, "gpu", need->gpu.name);
        json_out_key_i64(&json, "gpu_memory_bytes", need->gpu.memory_bytes);
    }
    json_out_key_i64(&json, "kv_bytes_per_token", model_spec_kv_bytes_per_token(s, DTYPE_F16));
    if (model_spec_check_kv(s, card->name, DTYPE_Q8_0, NULL) == STATUS_OK)
        json_out_key_i64(&json, "kv_bytes_per_token_q8_0",
                         model_spec_kv_bytes_per_token(s, DTYPE_Q8_0));
    add_template(&json, card);
    json_out_key(&json, "unknown_keys");
    json_out_open(&json, '[');
    for (int32_t i = 0; i < weights_unknown_keys(w)->n; i++)
        json_out_text(&json, weights_unknown_keys(w)->names[i]);
    json_out_close(&json, ']');
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)weights_hash(w));
    json_out_key_text(&json, "hash", hash);
    json_out_close(&json, '}');
    printf("%s\n", out.at);
    str_free(&out);
}

int verbs_show(int argc, char **argv)
{
    bool is_json = false;
    const char *plain[1];
    int n_plain;
    struct need need = { .n_rows = 0 };
    const struct options_extra extras[] = {
        { "device", "the GPU that would hold it, such as cuda:0: this machine's processor",
          &need.device, true, 0 },
    };
    const struct options_verb verb = {
        .doc = "Shows what a model file holds and what it would need.",
        .arguments = "PATH",
        .is_json = &is_json,
        .n_min = 1,
        .n_max = 1,
        .extras = extras,
        .n_extras = (int)COUNT_OF(extras),
    };
    struct weights *weights;
    struct model_card card;
    struct fault fault;
    if (!config_options_parse(&verb, argc, argv, NULL, plain, &n_plain))
        return 2;
    const struct model_file_options options = { plain[0], plain[0], DTYPE_F16, NULL };
    enum status status = model_file_open(&weights, &card, &options, &fault);
    if (status == STATUS_OK) {
        status = read_need(weights, &need, &fault);
        if (status == STATUS_OK)
            (is_json ? print_json : print_text)(weights, &need);
        model_card_close(&card);
        weights_close(weights);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    return status == STATUS_OK ? 0 : 1;
}

int verbs_version(int argc, char **argv)
{
    bool is_json = false;
    const char *plain[1];
    int n_plain;
    const struct options_verb verb = { .doc = "Prints the version.",
                                       .arguments = "",
                                       .is_json = &is_json };
    if (!config_options_parse(&verb, argc, argv, NULL, plain, &n_plain))
        return 2;
    printf(is_json ? "{\"version\":\"%s\",\"isa\":\"%s\"}\n" : "shoal %s (%s)\n", SHOAL_VERSION,
           cpu_isa_name(cpu_isa_best()));
    return 0;
}
