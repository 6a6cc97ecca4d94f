/* Checks a model's numbers, and computes what follows from them: bytes of KV, operations per token.
 *
 * A spec that passes model_spec_check keeps every product of two of its sizes inside int64. */
#include "core/model_spec.h"
#include <math.h>

enum { WIDTH_MAX = 1 << 20 };

static enum status check_range(const char *what, int64_t value, int64_t least, int64_t most,
                               struct fault *fault)
{
    if (value >= least && value <= most)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT, "model: %s is %lld, expected %lld to %lld", what,
                     (long long)value, (long long)least, (long long)most);
}

static enum status check_sizes(const struct model_spec *spec, struct fault *fault)
{
    const struct {
        const char *what;
        int64_t value, least, most;
    } rows[] = {
        { "the number of layers", spec->n_layers, 1, LIMIT_LAYERS },
        { "the width", spec->width, 1 + (spec->experts.n_experts > 0), WIDTH_MAX },
        { "the number of heads", spec->n_heads, 1, LIMIT_HEADS },
        { "the number of KV heads", spec->n_kv_heads, 1, spec->n_heads },
        { "the head dimension", spec->head_dim, 1, LIMIT_HEAD_DIM },
        { "the feed-forward width", spec->ffn_width, spec->experts.n_experts == 0, WIDTH_MAX },
        { "the vocabulary", spec->n_vocabulary, 1, LIMIT_VOCABULARY },
        { "the context length", spec->n_positions_max, 1, LIMIT_CONTEXT },
        { "the window", spec->window, 0, INT32_MAX },
        { "the rotated part of a head", spec->n_rope_dims, 0, spec->head_dim },
        { "the offset of positions", spec->position_offset, 0, 16 },
        { "the number of parameters", spec->n_parameters, 0, INT64_MAX },
        { "the number of KV groups", spec->n_kv_groups, 1, LIMIT_KV_GROUPS },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum status status =
            check_range(rows[i].what, rows[i].value, rows[i].least, rows[i].most, fault);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status check_experts(const struct expert_spec *experts, struct fault *fault)
{
    int32_t n = experts->n_experts;
    if (n == 0)
        return STATUS_OK;
    enum status status = check_range("the number of experts", n, 1, LIMIT_EXPERTS, fault);
    if (status == STATUS_OK)
        status = check_range("the number of experts per token", experts->n_used, 1,
                             n < LIMIT_EXPERTS_USED ? n : LIMIT_EXPERTS_USED, fault);
    if (status == STATUS_OK)
        status = check_range("the width of an expert", experts->width, 2, WIDTH_MAX, fault);
    int32_t n_groups = experts->n_groups;
    if (status == STATUS_OK && n_groups > 1)
        status = check_range("the number of groups of experts", n_groups, 2, n / 2, fault);
    if (status != STATUS_OK || n_groups <= 1)
        return status;
    if (n % n_groups != 0)
        return fault_set(fault, STATUS_BAD_INPUT, "model: %d experts can't be in %d equal groups",
                         n, n_groups);
    int32_t size = n / n_groups, least = (experts->n_used + size - 1) / size;
    return check_range("the number of groups that a token uses", experts->n_groups_used, least,
                       n_groups, fault);
}

static bool is_within(float value, float least, float most)
{
    return isfinite(value) && value >= least && value <= most;
}

static enum status check_latent(const struct model_spec *spec, struct fault *fault)
{
    enum { DIM_MAX = 1024 };
    const struct latent_spec *latent = &spec->latent;
    const struct {
        const char *what;
        int32_t value, least, most;
    } rows[] = {
        { "the rank of keys and values", latent->rank, 2, DIM_MAX },
        { "the rank of queries", latent->query_rank, 0, WIDTH_MAX },
        { "the unrotated part of a query", latent->key_dim, 2, DIM_MAX },
        { "the dimension of values", latent->value_dim, 2, DIM_MAX },
        { "the number of latent keys", spec->n_kv_heads, 1, 1 },
        { "the dimension of a latent key", spec->head_dim, latent->rank + spec->n_rope_dims,
          latent->rank + spec->n_rope_dims },
    };
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(rows) && latent->rank > 0 && status == STATUS_OK; i++)
        status = check_range(rows[i].what, rows[i].value, rows[i].least, rows[i].most, fault);
    return status;
}

static enum status check_dense(const struct model_spec *spec, struct fault *fault)
{
    int32_t n = 0;
    for (int32_t i = 0; i < spec->n_layers; i++)
        n += spec->is_dense_layer[i];
    if (n != spec->n_dense_layers)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model: %d layers have no experts, but it counts %d", n,
                         spec->n_dense_layers);
    return n == 0 ? STATUS_OK
                  : check_range("the feed-forward width of layers without experts",
                                spec->dense_width, 2, WIDTH_MAX, fault);
}

/* Checks the caps, and the limit of gates. */
static enum status check_caps(const struct model_spec *spec, struct fault *fault)
{
    const struct {
        const char *what;
        float value;
        bool has_to_be;
    } rows[] = {
        { "cap of scores", spec->score_cap, false },
        { "cap of logits", spec->logit_cap, false },
        { "limit of gates", spec->act_limit, spec->act == ACT_SWIGLU_CLAMPED },
        { "scale of experts' shares", spec->experts.scale, false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if ((rows[i].value != 0 || rows[i].has_to_be) && !is_within(rows[i].value, 1e-3f, 1e6f))
            return fault_set(fault, STATUS_BAD_INPUT,
                             "model: the %s is %g, expected 0.001 to 1000000", rows[i].what,
                             (double)rows[i].value);
    return STATUS_OK;
}

static enum status check_yarn(const struct rope_scaling *scaling, struct fault *fault)
{
    if (!is_within(scaling->beta_slow, 1e-3f, 1e6f) ||
        !is_within(scaling->beta_fast, scaling->beta_slow, 1e6f))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model: rope scaling's beta_fast and beta_slow are %g and %g, expected "
                         "beta_slow from 0.001 to beta_fast",
                         (double)scaling->beta_fast, (double)scaling->beta_slow);
    return check_range("rope scaling's original context", scaling->n_positions_original, 1,
                       LIMIT_CONTEXT, fault);
}

static enum status check_scaling(const struct rope_scaling *scaling, struct fault *fault)
{
    bool has_factor = scaling->kind != ROPE_SCALING_NONE && scaling->kind != ROPE_SCALING_LONG;
    if (has_factor && !is_within(scaling->factor, 1e-3f, 1e6f))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model: the rope scaling factor is %g, expected 0.001 to 1000000",
                         (double)scaling->factor);
    if (scaling->attention_factor != 0 && !is_within(scaling->attention_factor, 1e-3f, 1e3f))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model: rope scaling's attention factor is %g, expected 0.001 to 1000",
                         (double)scaling->attention_factor);
    if (scaling->kind == ROPE_SCALING_YARN)
        return check_yarn(scaling, fault);
    if (scaling->kind != ROPE_SCALING_LLAMA3)
        return STATUS_OK;
    if (!is_within(scaling->low_freq_factor, 1e-3f, 1e6f) ||
        !is_within(scaling->high_freq_factor, 1e-3f, 1e6f) ||
        scaling->high_freq_factor <= scaling->low_freq_factor)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model: rope scaling's low and high frequency factors are %g and %g",
                         (double)scaling->low_freq_factor, (double)scaling->high_freq_factor);
    return check_range("rope scaling's original context", scaling->n_positions_original, 1,
                       LIMIT_CONTEXT, fault);
}

static enum status check_rope(float base, const struct rope_scaling *scaling, struct fault *fault)
{
    float least = scaling->kind == ROPE_SCALING_YARN ? 1.001f : 1.0f; /* its logarithm divides */
    if (!is_within(base, least, 1e12f))
        return fault_set(fault, STATUS_BAD_INPUT, "model: the rope base is %g, expected %g to 1e12",
                         (double)base, (double)least);
    return check_scaling(scaling, fault);
}

static enum status check_full_layers(const struct model_spec *spec, struct fault *fault)
{
    int32_t n = 0;
    for (int32_t i = 0; i < spec->n_layers; i++)
        n += spec->is_full_layer[i];
    if (n != spec->n_full_layers)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model: %d layers see everything, but it counts %d", n,
                         spec->n_full_layers);
    if (n == 0)
        return STATUS_OK;
    return check_rope(spec->rope_base_full, &spec->rope_scaling_full, fault);
}

static enum status check_numbers(const struct model_spec *spec, struct fault *fault)
{
    if (!is_within(spec->norm_epsilon, 1e-12f, 1.0f))
        return fault_set(fault, STATUS_BAD_INPUT, "model: the norm's epsilon is %g",
                         (double)spec->norm_epsilon);
    if (!is_within(spec->embedding_scale, 1e-6f, 1e6f))
        return fault_set(fault, STATUS_BAD_INPUT, "model: the embedding scale is %g",
                         (double)spec->embedding_scale);
    if (!is_within(spec->logit_scale, 1e-6f, 1e6f))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model: the scale of logits is %g, expected 1e-6 to 1e6: the file is "
                         "damaged, or not supported",
                         (double)spec->logit_scale);
    if (spec->n_types < 0 || spec->n_types > 16 || spec->n_labels < 0 || spec->n_labels > 1)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "model: %d token types and %d labels, expected at most 16 and 1",
                         spec->n_types, spec->n_labels);
    if (spec->n_types > 0 && spec->position != POSITION_LEARNED)
        return fault_set(fault, STATUS_UNSUPPORTED, "model: token types need a table of positions");
    if (spec->score_divisor != 0 && !is_within(spec->score_divisor, 1e-3f, 1e6f))
        return fault_set(fault, STATUS_BAD_INPUT, "model: the divisor of scores is %g",
                         (double)spec->score_divisor);
    if (spec->position == POSITION_LEARNED)
        return STATUS_OK;
    if (spec->n_rope_dims < 2 || spec->n_rope_dims % 2 != 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model: the rotated part of a head is %d, expected an even number",
                         spec->n_rope_dims);
    enum status status = check_rope(spec->rope_base, &spec->rope_scaling, fault);
    return status != STATUS_OK ? status : check_full_layers(spec, fault);
}

void model_spec_set_full(struct model_spec *spec, int32_t every)
{
    spec->n_full_layers = 0;
    for (int32_t i = 0; i < LIMIT_LAYERS; i++) {
        spec->is_full_layer[i] = every > 0 && i < spec->n_layers && (i + 1) % every == 0;
        spec->n_full_layers += spec->is_full_layer[i];
    }
}

enum status model_spec_scale_residual(struct model_spec *spec, float scale, struct fault *fault)
{
    if (scale == 1.0f)
        return STATUS_OK;
    if (!is_within(scale, 1e-3f, 1e3f))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "model: the residual multiplier is %g, expected 0.001 to 1000",
                         (double)scale);
    CHECK(!spec->has_post_norms && !spec->has_qk_norm); /* these norms don't read the stream */
    spec->embedding_scale /= scale;
    spec->norm_epsilon = (float)((double)spec->norm_epsilon / ((double)scale * (double)scale));
    return STATUS_OK;
}

void model_spec_group(struct model_spec *spec)
{
    int32_t window = spec->n_full_layers > 0 ? 0 : spec->window;
    spec->n_kv_groups = 1;
    spec->kv_groups[0] = (struct kv_group){ spec->n_layers, spec->n_kv_heads, spec->head_dim,
                                            window, spec->latent.rank > 0 };
}

static enum status check_groups(const struct model_spec *spec, struct fault *fault)
{
    int64_t n_layers = 0;
    for (int i = 0; i < spec->n_kv_groups; i++) {
        const struct kv_group *group = &spec->kv_groups[i];
        if (group->n_layers < 1 || group->n_kv_heads < 1 || group->head_dim < 1 ||
            group->n_kv_heads > LIMIT_HEADS || group->head_dim > LIMIT_HEAD_DIM ||
            group->window < 0)
            return fault_set(fault, STATUS_BAD_INPUT, "model: KV group %d is out of range", i);
        n_layers += group->n_layers;
    }
    if (n_layers != spec->n_layers)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model: its KV groups hold %lld layers, the model has %d",
                         (long long)n_layers, spec->n_layers);
    return STATUS_OK;
}

enum status model_spec_check(const struct model_spec *spec, struct fault *fault)
{
    enum status status = check_sizes(spec, fault);
    if (status == STATUS_OK)
        status = check_experts(&spec->experts, fault);
    if (status == STATUS_OK)
        status = check_dense(spec, fault);
    if (status == STATUS_OK)
        status = check_latent(spec, fault);
    if (status == STATUS_OK)
        status = check_caps(spec, fault);
    if (status != STATUS_OK)
        return status;
    if (spec->n_heads % spec->n_kv_heads != 0)
        return fault_set(fault, STATUS_BAD_INPUT, "model: %d heads can't share %d KV heads evenly",
                         spec->n_heads, spec->n_kv_heads);
    status = check_numbers(spec, fault);
    return status != STATUS_OK ? status : check_groups(spec, fault);
}

enum status model_spec_check_kv(const struct model_spec *spec, const char *name,
                                enum dtype kv_dtype, struct fault *fault)
{
    const struct dtype_info *info = dtype_info(kv_dtype);
    for (int i = 0; i < spec->n_kv_groups; i++)
        if (spec->kv_groups[i].head_dim % info->n_block != 0)
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "model %.80s: its heads of %d values can't be cached as %s, which "
                             "takes multiples of %d",
                             name, spec->kv_groups[i].head_dim, info->name, info->n_block);
    return STATUS_OK;
}

int64_t model_spec_kv_bytes_per_token(const struct model_spec *spec, enum dtype kv_dtype)
{
    int64_t n_bytes = 0;
    for (int i = 0; i < spec->n_kv_groups; i++) {
        const struct kv_group *group = &spec->kv_groups[i];
        int64_t row = dtype_row_bytes(kv_dtype, group->head_dim);
        CHECK(row > 0);
        int64_t n_parts = group->has_keys_only ? 1 : 2;
        n_bytes += n_parts * row * group->n_kv_heads * group->n_layers;
    }
    return n_bytes;
}

/* Returns the weights of a layer's matrices of attention. */
static double attention_weights(const struct model_spec *spec)
{
    double width = spec->width, n_heads = spec->n_heads;
    const struct latent_spec *latent = &spec->latent;
    if (latent->rank == 0)
        return width * spec->head_dim * (2.0 * n_heads + 2.0 * spec->n_kv_heads);
    double queries = n_heads * (latent->key_dim + spec->n_rope_dims), rank = latent->query_rank;
    double heads = n_heads * latent->rank * (latent->key_dim + latent->value_dim);
    return (rank > 0 ? rank * (width + queries) : width * queries) + width * spec->head_dim +
           heads + width * n_heads * latent->value_dim;
}

double model_spec_flops_per_token(const struct model_spec *spec)
{
    double width = spec->width, attention = attention_weights(spec);
    double ffn = width * spec->ffn_width * (spec->is_gated ? 3.0 : 2.0);
    const struct expert_spec *experts = &spec->experts;
    ffn += width * (3.0 * experts->n_used * experts->width + experts->n_experts);
    double dense = width * spec->dense_width * 3.0;
    int32_t n_dense = spec->n_dense_layers;
    return 2.0 * (spec->n_layers * attention + (spec->n_layers - n_dense) * ffn + n_dense * dense);
}
