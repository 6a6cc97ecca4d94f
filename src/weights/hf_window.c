/* From config.json to windows, as the newest transformers applies them per family:
 *
 *   mistral, phi3,  all layers, if sliding_window is a number
 *   starcoder2
 *   qwen2, qwen3    if use_sliding_window is true: the layers from max_window_layers on,
 *                   or those that layer_types lists (mixtures of experts: never true)
 *   gemma3          all layers but each sixth, or those that layer_types lists
 *   gpt_oss, gemma2 all layers but each second, or those that layer_types lists
 *   cohere2, olmo3  all layers but each fourth, or those that layer_types lists
 *   others          never; a file that demands one is refused, because the library
 *                   applies it to its cache and not to its mask
 */
#include "weights/hf_window.h"
#include <string.h>

#define NO_WINDOW ((int64_t)-1)

static const struct rule {
    const char *architecture;
    int64_t usual;    /* when sliding_window is absent; NO_WINDOW: none */
    bool is_by_layer; /* layers may differ */
    bool is_switched; /* needs use_sliding_window */
    int32_t every;    /* each how many-th layer sees all positions, without a list */
} rules[] = {
    { "mistral", 4096, false, false },   { "phi3", NO_WINDOW, false, false },
    { "qwen2", 4096, true, true },       { "qwen3", 4096, true, true },
    { "qwen2moe", 4096, true, true },    { "qwen3moe", 4096, true, true },
    { "gemma3", 4096, true, false, 6 },  { "gpt-oss", 128, true, false, 2 },
    { "gemma2", 4096, true, false, 2 },  { "olmo3", 4096, true, false, 4 },
    { "cohere2", 4096, true, false, 4 }, { "starcoder2", NO_WINDOW, false, false },
};

static const struct rule *rule_of(const struct model_spec *spec)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (strcmp(rules[i].architecture, spec->architecture) == 0)
            return &rules[i];
    return NULL;
}

/* Reads the width. window becomes NO_WINDOW when the file has null. */
static enum status read_width(const struct weights_json_from *config, int64_t *window)
{
    const struct weights_json_node *value = weights_json_member(config->object, "sliding_window");
    if (value != NULL && value->kind == WEIGHTS_JSON_NULL)
        *window = NO_WINDOW;
    return weights_json_i64(config, "sliding_window", 0, INT32_MAX, window);
}

/* Reads the layers that layer_types lists as full ones. Sets the length of the list; 0: there is
 * none. */
static enum status read_list(const struct weights_json_from *config, struct model_spec *spec,
                             int32_t *n_listed)
{
    const struct weights_json_node *types = weights_json_find(config->object, "layer_types");
    *n_listed = 0;
    if (types == NULL)
        return STATUS_OK;
    if (types->kind != WEIGHTS_JSON_ARRAY || types->n != (uint32_t)spec->n_layers)
        return fault_set(config->fault, STATUS_BAD_INPUT,
                         "config.json: layer_types has %u elements for %d layers", types->n,
                         spec->n_layers);
    const struct weights_json_node *type = types + 1;
    for (int32_t i = 0; i < spec->n_layers; i++, type = weights_json_next(type)) {
        char found[96];
        bool is_full = weights_json_is_text(type, "full_attention");
        weights_json_print(type, found, sizeof(found));
        if (!is_full && !weights_json_is_text(type, "sliding_attention"))
            return fault_set(config->fault, STATUS_UNSUPPORTED,
                             "config.json: layer_types lists %s, and only \"full_attention\" and "
                             "\"sliding_attention\" are supported",
                             found);
        spec->is_full_layer[i] = is_full;
        spec->n_full_layers += is_full;
    }
    *n_listed = spec->n_layers;
    return STATUS_OK;
}

/* Without a list, qwen's first layers have full attention, and every sixth or fourth layer of the
 * other families has it. */
static enum status set_usual(const struct weights_json_from *config, const struct rule *rule,
                             struct model_spec *spec)
{
    int64_t every = rule->every, n_full = 28;
    enum status status = weights_json_i64(config, "sliding_window_pattern", 1, INT32_MAX, &every);
    if (status == STATUS_OK)
        status = weights_json_i64(config, "max_window_layers", 0, INT32_MAX, &n_full);
    if (status != STATUS_OK)
        return status;
    if (!rule->is_switched) {
        model_spec_set_full(spec, (int32_t)every);
        return STATUS_OK;
    }
    for (int32_t i = 0; i < spec->n_layers; i++) {
        spec->is_full_layer[i] = i < n_full;
        spec->n_full_layers += i < n_full;
    }
    return STATUS_OK;
}

static enum status refuse(const struct weights_json_from *config, const char *why)
{
    return fault_set(config->fault, STATUS_UNSUPPORTED, "config.json: %s", why);
}

/* In a family with equal layers, other keys of the file must not contradict that. */
static enum status check_alike(const struct weights_json_from *config, struct model_spec *spec,
                               int64_t window, int32_t n_listed)
{
    bool is_used = true;
    bool is_mixed = spec->n_full_layers > 0 && spec->n_full_layers < n_listed;
    bool is_other = n_listed > 0 && (spec->n_full_layers == 0) != (window != NO_WINDOW);
    enum status status = weights_json_bool(config, "use_sliding_window", &is_used);
    if (status != STATUS_OK)
        return status;
    if (is_mixed || (is_other && window < spec->n_positions_max))
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: layer_types lists %d of %d layers with a window, which %s "
                         "ignores",
                         n_listed - spec->n_full_layers, n_listed, spec->architecture);
    if (!is_used && window != NO_WINDOW)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: use_sliding_window is false and sliding_window is %lld, and "
                         "%s reads only the second: remove one of the two",
                         (long long)window, spec->architecture);
    model_spec_set_full(spec, 0);
    return STATUS_OK;
}

static enum status read_by_layer(const struct weights_json_from *config, const struct rule *rule,
                                 struct model_spec *spec, int32_t n_listed, int64_t *window)
{
    bool is_used = !rule->is_switched;
    enum status status =
        rule->is_switched ? weights_json_bool(config, "use_sliding_window", &is_used) : STATUS_OK;
    if (!is_used)
        *window = NO_WINDOW;
    bool has_usual = n_listed == 0 && (*window != NO_WINDOW || !rule->is_switched);
    if (status == STATUS_OK && has_usual)
        status = set_usual(config, rule, spec);
    if (status != STATUS_OK)
        return status;
    bool has_sliding = (n_listed > 0 || has_usual) && spec->n_full_layers < spec->n_layers;
    if (has_sliding && *window == NO_WINDOW)
        return refuse(config, is_used ? "layers have a window, but sliding_window is null"
                                      : "layer_types lists layers with a window, but "
                                        "use_sliding_window is not true");
    if (!has_sliding)
        *window = NO_WINDOW;
    return STATUS_OK;
}

enum status weights_hf_window(const struct weights_json_from *config, struct model_spec *spec)
{
    const struct rule *rule = rule_of(spec);
    bool is_by_layer = rule != NULL && rule->is_by_layer;
    int32_t n_listed;
    int64_t window = rule != NULL ? rule->usual : NO_WINDOW;
    if (spec->n_layers > LIMIT_LAYERS)
        return STATUS_OK; /* model_spec_check refuses it */
    enum status status = read_width(config, &window);
    if (status == STATUS_OK)
        status = read_list(config, spec, &n_listed);
    if (status != STATUS_OK)
        return status;
    if (rule == NULL && window != NO_WINDOW && window < spec->n_positions_max)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: sliding_window is %lld, and %s has no window",
                         (long long)window, spec->architecture);
    window = rule != NULL ? window : NO_WINDOW;
    status = is_by_layer ? read_by_layer(config, rule, spec, n_listed, &window)
                         : check_alike(config, spec, window, n_listed);
    if (status == STATUS_OK && window == 0)
        return refuse(config, "sliding_window is 0, so that no token would see any; null stands "
                              "for no window");
    spec->window = window != NO_WINDOW ? (int32_t)window : 0;
    if (spec->window == 0 && is_by_layer && rule->is_switched)
        model_spec_set_full(spec, 0); /* all layers are alike */
    return status;
}
