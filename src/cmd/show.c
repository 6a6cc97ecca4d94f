/* shoal show, version, config: what can be told without a server. */
#include "base/json_out.h"
#include "base/log.h"
#include "cmd/options.h"
#include "cmd/verbs.h"
#include "cpu/cpu.h"
#include "weights/weights.h"
#include <stdio.h>
#include <string.h>

static const char *position_name(enum position_kind kind)
{
    static const char *const names[] = { "rope (halves)", "rope (pairs)", "learned" };
    return names[kind];
}

static void print_text(const struct weights *w)
{
    const struct model_spec *s = weights_spec(w);
    const struct weights_card *card = weights_card(w);
    const double mib = 1.0 / 1048576.0;
    printf("name             %s\nformat           %s\narchitecture     %s\n", card->name,
           weights_format(w), s->architecture);
    printf("parameters       %.1f M\n", (double)s->n_parameters * 1e-6);
    printf("layers           %d of width %d, inner width %d\n", s->n_layers, s->width,
           s->ffn_width);
    printf("heads            %d, %d of keys and values, dimension %d\n", s->n_heads, s->n_kv_heads,
           s->head_dim);
    printf("positions        %s, context %d%s\n", position_name(s->position), s->n_positions_max,
           s->window > 0 ? ", sliding window" : "");
    printf("vocabulary       %d tokens, %s\n", s->n_vocabulary,
           card->tokenizer == WEIGHTS_TOKENIZER_SPM   ? "SentencePiece BPE"
           : card->tokenizer == WEIGHTS_TOKENIZER_BPE ? "byte-level BPE"
                                                      : "no tokenizer");
    printf("chat template    %s\n", card->chat_template ? "yes" : "no");
    printf("weights          %.1f MiB in the file\n", (double)weights_file_bytes(w) * mib);
    printf("KV               %lld bytes a token (f16): %.1f MiB for a full context\n",
           (long long)model_spec_kv_bytes_per_token(s, DTYPE_F16),
           (double)model_spec_kv_bytes_per_token(s, DTYPE_F16) * (double)s->n_positions_max * mib);
    printf("hash             %016llx\n", (unsigned long long)weights_hash(w));
}

static void add_number(struct json_out *json, const char *key, int64_t value)
{
    json_out_key(json, key);
    json_out_i64(json, value);
}

static void print_json(const struct weights *w)
{
    const struct model_spec *s = weights_spec(w);
    const struct weights_card *card = weights_card(w);
    struct json_out json;
    struct str out;
    char hash[32];
    str_init(&out);
    json_out_init(&json, &out);
    json_out_open(&json, '{');
    json_out_key(&json, "name");
    json_out_text(&json, card->name);
    json_out_key(&json, "format");
    json_out_text(&json, weights_format(w));
    json_out_key(&json, "architecture");
    json_out_text(&json, s->architecture);
    add_number(&json, "parameters", s->n_parameters);
    add_number(&json, "layers", s->n_layers);
    add_number(&json, "width", s->width);
    add_number(&json, "ffn_width", s->ffn_width);
    add_number(&json, "heads", s->n_heads);
    add_number(&json, "kv_heads", s->n_kv_heads);
    add_number(&json, "head_dim", s->head_dim);
    add_number(&json, "context", s->n_positions_max);
    add_number(&json, "window", s->window);
    add_number(&json, "vocabulary", s->n_vocabulary);
    add_number(&json, "file_bytes", weights_file_bytes(w));
    add_number(&json, "kv_bytes_per_token", model_spec_kv_bytes_per_token(s, DTYPE_F16));
    json_out_key(&json, "chat_template");
    json_out_bool(&json, card->chat_template != NULL);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)weights_hash(w));
    json_out_key(&json, "hash");
    json_out_text(&json, hash);
    json_out_close(&json, '}');
    printf("%s\n", out.at);
    str_free(&out);
}

int verbs_show(int argc, char **argv)
{
    bool is_json = false;
    const char *plain[1];
    int n_plain;
    const struct options_verb verb = { "Says what a model file holds and what it would need.",
                                       "PATH",
                                       false,
                                       &is_json,
                                       1,
                                       1,
                                       NULL,
                                       0 };
    struct weights *weights;
    struct fault fault;
    if (!options_parse(&verb, argc, argv, NULL, plain, &n_plain))
        return 2;
    if (weights_open(&weights, plain[0], &fault) != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
        return 1;
    }
    if (is_json)
        print_json(weights);
    else
        print_text(weights);
    weights_close(weights);
    return 0;
}

int verbs_version(int argc, char **argv)
{
    bool is_json = false;
    const char *plain[1];
    int n_plain;
    const struct options_verb verb = { "Prints the version.", "", false, &is_json, 0, 0, NULL, 0 };
    if (!options_parse(&verb, argc, argv, NULL, plain, &n_plain))
        return 2;
    printf(is_json ? "{\"version\":\"%s\",\"isa\":\"%s\"}\n" : "shoal %s (%s)\n", SHOAL_VERSION,
           cpu_isa_name(cpu_isa_best()));
    return 0;
}

static int check_config(const char *path)
{
    struct config config;
    struct fault fault;
    config_init(&config);
    enum status status = config_read(&config, path, &fault);
    if (status == STATUS_OK)
        status = config_check(&config, &fault);
    if (status == STATUS_OK)
        printf("%s: fine, %d model%s\n", path, config.n_models, config.n_models == 1 ? "" : "s");
    else
        fprintf(stderr, "shoal: %s\n", fault.text);
    config_free(&config);
    return status == STATUS_OK ? 0 : 1;
}

int verbs_config(int argc, char **argv)
{
    const char *plain[2];
    int n_plain;
    const struct options_verb verb = { "Checks a configuration, or prints the JSON Schema of one.",
                                       "check FILE\nschema",
                                       false,
                                       NULL,
                                       1,
                                       2,
                                       NULL,
                                       0 };
    if (!options_parse(&verb, argc, argv, NULL, plain, &n_plain))
        return 2;
    if (strcmp(plain[0], "check") == 0 && n_plain == 2)
        return check_config(plain[1]);
    if (strcmp(plain[0], "schema") == 0 && n_plain == 1) {
        struct str out;
        str_init(&out);
        config_print_schema(&out);
        printf("%s\n", out.at);
        str_free(&out);
        return 0;
    }
    fprintf(stderr, "shoal config: expected check FILE or schema\n");
    return 2;
}
