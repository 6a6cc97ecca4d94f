/* The one forward pass, compiled from data flags into a flat list of operations. */
#include "run/forward.h"

#include "base/num.h"
#include "compute/quant.h"

/* ---- The list of tensors. A visitor walks it in one order, so that counting and indexing agree.
 * ---- */

struct tensor_list {
    const struct tensor **out;
    int n, n_max;
};

/* Returns the tensor's index in the list, -1 when it is absent. A tied output has the embedding's
 * index. */
static int list_add(struct tensor_list *list, const struct tensor *tensor)
{
    if (!tensor->data)
        return -1;
    if (list->out && list->n < list->n_max)
        list->out[list->n] = tensor;
    return list->n++;
}

struct around_index {
    int token_embedding, position_embedding, embedding_norm, embedding_norm_bias;
    int output_norm, output_norm_bias, output, output_bias;
    int pooler, pooler_bias, labels, labels_bias;
};
struct layer_index {
    int attention_norm, attention_norm_bias, q, k, v, q_bias, k_bias, v_bias, q_norm, k_norm, o,
        o_bias;
    int attention_post_norm, ffn_post_norm;
    int sinks, router, router_bias, choice_bias, shared_gate;
    int expert_gate, expert_up, expert_down; /* of expert 0, and so are the biases */
    int expert_gate_bias, expert_up_bias, expert_down_bias;
    int q_a, q_a_norm, latent_norm, key_heads, value_heads; /* heads: of head 0 */
    int ffn_norm, ffn_norm_bias, gate, up, gate_bias, up_bias, down, down_bias;
};

static struct around_index index_around(const struct model_spec *spec,
                                        const struct model_weights *weights,
                                        struct tensor_list *list)
{
    struct around_index at = {
        .token_embedding = list_add(list, &weights->token_embedding),
        .position_embedding = list_add(list, &weights->position_embedding),
        .embedding_norm = list_add(list, &weights->embedding_norm),
        .embedding_norm_bias = list_add(list, &weights->embedding_norm_bias),
        .output_norm = list_add(list, &weights->output_norm),
        .output_norm_bias = list_add(list, &weights->output_norm_bias),
    };
    at.output = spec->is_tied ? at.token_embedding : list_add(list, &weights->output);
    at.output_bias = list_add(list, &weights->output_bias);
    at.pooler = list_add(list, &weights->pooler);
    at.pooler_bias = list_add(list, &weights->pooler_bias);
    at.labels = list_add(list, &weights->labels);
    at.labels_bias = list_add(list, &weights->labels_bias);
    return at;
}

/* The tensors of one kind are in a row, so that expert e's is e behind that of expert 0. */
static void index_experts(const struct model_spec *spec, const struct layer_weights *w,
                          struct tensor_list *list, struct layer_index *at)
{
    const struct {
        size_t at;
        int *index;
    } kinds[] = {
        { offsetof(struct expert_weights, gate), &at->expert_gate },
        { offsetof(struct expert_weights, up), &at->expert_up },
        { offsetof(struct expert_weights, down), &at->expert_down },
        { offsetof(struct expert_weights, gate_bias), &at->expert_gate_bias },
        { offsetof(struct expert_weights, up_bias), &at->expert_up_bias },
        { offsetof(struct expert_weights, down_bias), &at->expert_down_bias },
    };
    at->router = list_add(list, &w->router);
    at->router_bias = list_add(list, &w->router_bias);
    at->choice_bias = list_add(list, &w->choice_bias);
    at->shared_gate = list_add(list, &w->shared_gate);
    int32_t n = w->router.data != NULL ? spec->experts.n_experts : 0;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        *kinds[i].index = -1;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (int32_t e = 0; e < n; e++) {
            const char *expert = (const char *)&w->experts[e];
            int index = list_add(list, (const struct tensor *)(const void *)(expert + kinds[i].at));
            if (e == 0)
                *kinds[i].index = index;
        }
}

/* The tensors of one kind are in a row, as those of experts are. */
static void index_latents(const struct model_spec *spec, const struct layer_weights *w,
                          struct tensor_list *list, struct layer_index *at)
{
    at->q_a = list_add(list, &w->q_a);
    at->q_a_norm = list_add(list, &w->q_a_norm);
    at->latent_norm = list_add(list, &w->latent_norm);
    at->key_heads = at->value_heads = -1;
    for (int32_t head = 0; head < spec->n_heads && spec->latent.rank > 0; head++) {
        int index = list_add(list, &w->latents[head].key);
        at->key_heads = head == 0 ? index : at->key_heads;
    }
    for (int32_t head = 0; head < spec->n_heads && spec->latent.rank > 0; head++) {
        int index = list_add(list, &w->latents[head].value);
        at->value_heads = head == 0 ? index : at->value_heads;
    }
}

static struct layer_index index_layer(const struct model_spec *spec, const struct layer_weights *w,
                                      struct tensor_list *list)
{
    struct layer_index at;
    at.attention_norm = list_add(list, &w->attention_norm);
    at.attention_norm_bias = list_add(list, &w->attention_norm_bias);
    at.q = list_add(list, &w->q);
    at.k = list_add(list, &w->k);
    at.v = list_add(list, &w->v);
    at.q_bias = list_add(list, &w->q_bias);
    at.k_bias = list_add(list, &w->k_bias);
    at.v_bias = list_add(list, &w->v_bias);
    at.q_norm = list_add(list, &w->q_norm);
    at.k_norm = list_add(list, &w->k_norm);
    at.o = list_add(list, &w->o);
    at.o_bias = list_add(list, &w->o_bias);
    at.ffn_norm = list_add(list, &w->ffn_norm);
    at.ffn_norm_bias = list_add(list, &w->ffn_norm_bias);
    at.gate = list_add(list, &w->gate);
    at.up = list_add(list, &w->up);
    at.gate_bias = list_add(list, &w->gate_bias);
    at.up_bias = list_add(list, &w->up_bias);
    at.down = list_add(list, &w->down);
    at.down_bias = list_add(list, &w->down_bias);
    at.attention_post_norm = list_add(list, &w->attention_post_norm);
    at.ffn_post_norm = list_add(list, &w->ffn_post_norm);
    at.sinks = list_add(list, &w->sinks);
    index_latents(spec, w, list, &at);
    index_experts(spec, w, list, &at);
    return at;
}

int run_forward_tensors_max(const struct model_spec *spec)
{
    enum { AROUND = 14, PER_LAYER = 30 };
    int32_t n_latents = spec->latent.rank > 0 ? 2 * spec->n_heads : 0;
    return AROUND + spec->n_layers * (PER_LAYER + n_latents + 6 * spec->experts.n_experts);
}

int run_forward_tensors(const struct model_spec *spec, const struct model_weights *weights,
                        const struct tensor **out, int n_max)
{
    struct tensor_list list = { out, 0, n_max };
    index_around(spec, weights, &list);
    for (int32_t i = 0; i < spec->n_layers; i++)
        index_layer(spec, &weights->layers[i], &list);
    return list.n;
}

/* ---- The list of operations. ---- */

struct op_list {
    struct compute_op *ops;
    int n;
    uint16_t layer;
};

static struct compute_op *emit(struct op_list *list, enum compute_op_kind kind, int dst, int src)
{
    struct compute_op *op = &list->ops[list->n++];
    *op = (struct compute_op){ .kind = (uint8_t)kind,
                               .layer = list->layer,
                               .dst = (uint16_t)dst,
                               .src = (uint16_t)src,
                               .weight = -1,
                               .bias = -1,
                               .weight2 = -1 };
    return op;
}

static struct compute_op *emit_norm(struct op_list *list, const struct model_spec *spec, int dst,
                                    int src, int weight, int bias)
{
    struct compute_op *op = emit(list, COMPUTE_NORM, dst, src);
    op->weight = weight;
    op->bias = bias;
    op->scale = spec->norm_epsilon;
    op->flags = spec->norm == NORM_LAYER ? COMPUTE_NORM_LAYER : 0;
    return op;
}

static struct compute_op *emit_matmul(struct op_list *list, int dst, int src, int weight, int bias,
                                      unsigned flags)
{
    struct compute_op *op = emit(list, COMPUTE_MATMUL, dst, src);
    op->weight = weight;
    op->bias = bias;
    op->flags = (uint16_t)flags;
    return op;
}

/* Emits per-head norm and rotation of queries or keys, in place. */
static void emit_heads(struct op_list *list, const struct model_spec *spec, int reg, int n_heads,
                       int norm)
{
    if (spec->has_qk_norm && spec->norms_heads_together) {
        emit_norm(list, spec, reg, reg, norm, -1);
    } else if (spec->has_qk_norm) {
        struct compute_op *op = emit(list, COMPUTE_HEAD_NORM, reg, reg);
        op->weight = norm;
        op->n = n_heads;
        op->scale = spec->norm_epsilon;
    }
    if (spec->position == POSITION_LEARNED || spec->is_unrotated_layer[list->layer])
        return;
    struct compute_op *op = emit(list, COMPUTE_ROPE, reg, reg);
    op->n = n_heads;
    op->flags = spec->position == POSITION_ROPE_PAIRS ? COMPUTE_ROPE_PAIRS : 0;
    op->rope = spec->is_full_layer[list->layer];
}

/* Emits x += a matrix times src; with post norms the norm of that is added instead. */
static void emit_residual(struct op_list *list, const struct model_spec *spec, int src, int weight,
                          int bias, int post_norm)
{
    if (!spec->has_post_norms) {
        emit_matmul(list, FORWARD_X, src, weight, bias, COMPUTE_ADD_TO);
        return;
    }
    emit_matmul(list, FORWARD_N, src, weight, bias, 0);
    emit_norm(list, spec, FORWARD_X, FORWARD_N, post_norm, -1)->flags |= COMPUTE_ADD_TO;
}

/* Returns the register that attention or a feed-forward reads: the normed stream, or the stream
 * itself. */
static int emit_input(struct op_list *list, const struct model_spec *spec, int norm, int bias)
{
    if (spec->has_no_pre_norms)
        return FORWARD_X;
    emit_norm(list, spec, FORWARD_N, FORWARD_X, norm, bias);
    return FORWARD_N;
}

static void emit_per_head(struct op_list *list, const struct model_spec *spec, int dst, int src,
                          int weight, unsigned flags)
{
    struct compute_op *op = emit(list, COMPUTE_HEADS, dst, src);
    op->weight = weight;
    op->n = spec->n_heads;
    op->flags = (uint16_t)flags;
}

/* Emits queries and the key of latent attention. A query becomes one of the latent key. */
static void emit_latents(struct op_list *list, const struct model_spec *spec,
                         const struct layer_index *at, int input)
{
    int from = input;
    if (spec->latent.query_rank > 0) {
        from = FORWARD_LA;
        emit_matmul(list, from, input, at->q_a, -1, 0);
        emit_norm(list, spec, from, from, at->q_a_norm, -1)->scale = spec->latent.norm_epsilon;
    }
    emit_matmul(list, FORWARD_LQ, from, at->q, -1, 0);
    emit_matmul(list, FORWARD_K, input, at->k, -1, 0);
    emit_matmul(list, FORWARD_V, input, at->v, -1, 0);
    emit_norm(list, spec, FORWARD_V, FORWARD_V, at->latent_norm, -1)->scale =
        spec->latent.norm_epsilon;
    emit_per_head(list, spec, FORWARD_Q, FORWARD_LQ, at->key_heads, COMPUTE_KEEPS_REST);
}

/* Emits attention up to its heads' output, which is not yet added to the stream. Returns the
 * register of that output. */
static int emit_attention(struct op_list *list, const struct model_spec *spec,
                          const struct layer_index *at)
{
    double divisor = spec->score_divisor != 0 ? (double)spec->score_divisor : spec->head_dim;
    int input = emit_input(list, spec, at->attention_norm, at->attention_norm_bias);
    if (spec->latent.rank > 0) {
        emit_latents(list, spec, at, input);
    } else {
        emit_matmul(list, FORWARD_Q, input, at->q, at->q_bias, 0);
        emit_matmul(list, FORWARD_K, input, at->k, at->k_bias, 0);
        emit_matmul(list, FORWARD_V, input, at->v, at->v_bias, 0);
    }
    emit_heads(list, spec, FORWARD_Q, spec->n_heads, at->q_norm);
    emit_heads(list, spec, FORWARD_K, spec->n_kv_heads, at->k_norm);
    emit(list, COMPUTE_KV_STORE, FORWARD_K, FORWARD_K)->src2 = FORWARD_V;
    struct compute_op *attend = emit(list, COMPUTE_ATTEND, FORWARD_A, FORWARD_Q);
    attend->n = model_spec_window(spec, list->layer);
    attend->scale = (float)(1.0 / num_sqrt(divisor));
    attend->cap = spec->score_cap;
    attend->weight = at->sinks;
    attend->flags = spec->is_encoder ? COMPUTE_SEES_ALL : 0;
    if (spec->latent.rank == 0)
        return FORWARD_A;
    emit_per_head(list, spec, FORWARD_LV, FORWARD_A, at->value_heads, 0);
    return FORWARD_LV;
}

static struct compute_op *emit_experts(struct op_list *list, int dst, int src, int weight, int bias)
{
    struct compute_op *op = emit(list, COMPUTE_EXPERTS, dst, src);
    op->weight = weight;
    op->bias = bias;
    return op;
}

static void emit_gate(struct op_list *list, const struct model_spec *spec, int gate, int up)
{
    struct compute_op *op = emit(list, COMPUTE_GATE, gate, gate);
    op->src2 = (uint16_t)up;
    op->act = (uint8_t)spec->act;
    op->cap = spec->act == ACT_SWIGLU_CLAMPED ? spec->act_limit : 0;
}

/* Emits x += what the experts of each row make of n. */
static void emit_routed(struct op_list *list, const struct model_spec *spec,
                        const struct layer_index *at)
{
    emit_matmul(list, FORWARD_ROUTER, FORWARD_N, at->router, at->router_bias, 0);
    emit(list, COMPUTE_ROUTE, FORWARD_ROUTER, FORWARD_ROUTER)->weight = at->choice_bias;
    emit(list, COMPUTE_SPREAD, FORWARD_E, FORWARD_N);
    emit_experts(list, FORWARD_EG, FORWARD_E, at->expert_gate, at->expert_gate_bias);
    emit_experts(list, FORWARD_EU, FORWARD_E, at->expert_up, at->expert_up_bias);
    emit_gate(list, spec, FORWARD_EG, FORWARD_EU);
    emit_experts(list, FORWARD_ED, FORWARD_EG, at->expert_down, at->expert_down_bias);
    emit(list, COMPUTE_COMBINE, FORWARD_X, FORWARD_ED);
}

/* Emits x += the feed-forward that all tokens use, times its share. */
static void emit_shared(struct op_list *list, const struct layer_index *at)
{
    emit_matmul(list, FORWARD_SHARE, FORWARD_N, at->shared_gate, -1, 0);
    emit_matmul(list, FORWARD_N, FORWARD_G, at->down, at->down_bias, 0);
    emit(list, COMPUTE_SCALE, FORWARD_X, FORWARD_N)->src2 = FORWARD_SHARE;
}

static void emit_ffn(struct op_list *list, const struct model_spec *spec,
                     const struct layer_index *at, int input)
{
    bool is_mixed = model_spec_has_experts(spec, list->layer);
    bool is_dense = !is_mixed && spec->experts.n_experts > 0;
    int gate = is_dense ? FORWARD_DG : FORWARD_G, up = is_dense ? FORWARD_DU : FORWARD_U;
    if (is_mixed)
        emit_routed(list, spec, at);
    if (is_mixed && spec->ffn_width == 0)
        return;
    if (spec->is_gated) {
        emit_matmul(list, gate, input, at->gate, at->gate_bias, 0);
        emit_matmul(list, up, input, at->up, at->up_bias, 0);
        emit_gate(list, spec, gate, up);
    } else {
        emit_matmul(list, gate, input, at->up, at->up_bias, COMPUTE_HAS_ACT)->act =
            (uint8_t)spec->act;
    }
    if (at->shared_gate >= 0)
        emit_shared(list, at);
    else
        emit_residual(list, spec, gate, at->down, at->down_bias, at->ffn_post_norm);
}

/* A parallel feed-forward is normed before attention's output is added, or shares its norm. */
static void emit_layer(struct op_list *list, const struct model_spec *spec,
                       const struct layer_index *at)
{
    int input = FORWARD_N, heads = emit_attention(list, spec, at);
    if (spec->is_parallel && at->ffn_norm >= 0)
        input = emit_input(list, spec, at->ffn_norm, at->ffn_norm_bias);
    emit_residual(list, spec, heads, at->o, at->o_bias, at->attention_post_norm);
    if (spec->norms_sums)
        emit_norm(list, spec, FORWARD_X, FORWARD_X, at->attention_norm, at->attention_norm_bias);
    if (!spec->is_parallel)
        input = emit_input(list, spec, at->ffn_norm, at->ffn_norm_bias);
    emit_ffn(list, spec, at, input);
    if (spec->norms_sums)
        emit_norm(list, spec, FORWARD_X, FORWARD_X, at->ffn_norm, at->ffn_norm_bias);
}

/* Emits what follows the layers of an encoder: the vector is made of rows of the stream, or of the
 * label's score of one row. */
static void emit_vector(struct op_list *list, const struct model_spec *spec,
                        const struct around_index *at)
{
    if (spec->n_labels == 0) {
        emit(list, COMPUTE_VECTORS, FORWARD_X, FORWARD_X);
        return;
    }
    emit(list, COMPUTE_TAKE_ROWS, FORWARD_LAST, FORWARD_X);
    emit_matmul(list, FORWARD_LAST_N, FORWARD_LAST, at->pooler, at->pooler_bias, COMPUTE_HAS_ACT)
        ->act = ACT_TANH;
    emit_matmul(list, FORWARD_LABELS, FORWARD_LAST_N, at->labels, at->labels_bias, 0);
    emit(list, COMPUTE_VECTORS, FORWARD_LABELS, FORWARD_LABELS);
}

int run_forward_compile(const struct model_spec *spec, const struct model_weights *weights,
                        bool has_vectors, struct compute_op *ops)
{
    struct tensor_list tensors = { NULL, 0, 0 };
    struct around_index at = index_around(spec, weights, &tensors);
    struct op_list list = { ops, 0, 0 };

    struct compute_op *embed = emit(&list, COMPUTE_EMBED, FORWARD_X, FORWARD_X);
    embed->weight = at.token_embedding;
    embed->weight2 = at.position_embedding;
    embed->n = spec->position_offset;
    embed->scale = spec->embedding_scale;
    if (spec->has_embedding_norm)
        emit_norm(&list, spec, FORWARD_X, FORWARD_X, at.embedding_norm, at.embedding_norm_bias);
    for (int32_t i = 0; i < spec->n_layers; i++) {
        struct layer_index layer = index_layer(spec, &weights->layers[i], &tensors);
        list.layer = (uint16_t)i;
        emit_layer(&list, spec, &layer);
    }
    if (spec->is_encoder) {
        emit_vector(&list, spec, &at);
        return list.n;
    }
    emit(&list, COMPUTE_TAKE_ROWS, FORWARD_LAST, FORWARD_X);
    emit_norm(&list, spec, FORWARD_LAST_N, FORWARD_LAST, at.output_norm, at.output_norm_bias);
    struct compute_op *logits = emit(&list, COMPUTE_LOGITS, FORWARD_LAST_N, FORWARD_LAST_N);
    logits->weight = at.output;
    logits->bias = at.output_bias;
    logits->cap = spec->logit_cap;
    if (has_vectors)
        emit(&list, COMPUTE_VECTORS, FORWARD_LAST_N, FORWARD_LAST_N);
    CHECK(list.n <= FORWARD_OPS_PER_LAYER * spec->n_layers + FORWARD_OPS_AROUND);
    return list.n;
}

/* Sets the widths of what only latent attention has. */
static void set_latents(const struct model_spec *spec, int32_t *widths)
{
    const struct latent_spec *latent = &spec->latent;
    widths[FORWARD_K] = spec->n_rope_dims;
    widths[FORWARD_V] = latent->rank;
    widths[FORWARD_LQ] = spec->n_heads * (latent->key_dim + spec->n_rope_dims);
    widths[FORWARD_LA] = max_i32(latent->query_rank, 1);
    widths[FORWARD_LV] = spec->n_heads * latent->value_dim;
}

int run_forward_registers(const struct model_spec *spec, struct forward_registers *out)
{
    int32_t *widths = out->widths;
    *out = (struct forward_registers){ .is_logit_rows = {
                                           [FORWARD_LAST] = true, [FORWARD_LAST_N] = true } };
    for (int i = 0; i < FORWARD_REGISTERS; i++)
        widths[i] = spec->width;
    widths[FORWARD_Q] = widths[FORWARD_A] = spec->n_heads * spec->head_dim;
    widths[FORWARD_K] = widths[FORWARD_V] = spec->n_kv_heads * spec->head_dim;
    widths[FORWARD_G] = max_i32(spec->ffn_width, 1);
    widths[FORWARD_U] = spec->is_gated ? widths[FORWARD_G] : 1;
    if (spec->n_labels > 0) {
        widths[FORWARD_LABELS] = spec->n_labels;
        out->is_logit_rows[FORWARD_LABELS] = true;
        return FORWARD_LABELS + 1;
    }
    if (spec->experts.n_experts == 0)
        return FORWARD_PLAIN;
    widths[FORWARD_ROUTER] = spec->experts.n_experts;
    widths[FORWARD_SHARE] = 1;
    widths[FORWARD_EG] = widths[FORWARD_EU] = spec->experts.width;
    for (int i = FORWARD_E; i < FORWARD_EXPERTS_END; i++)
        out->is_expert_rows[i] = true;
    if (spec->n_dense_layers == 0 && spec->latent.rank == 0)
        return FORWARD_EXPERTS_END;
    widths[FORWARD_DG] = widths[FORWARD_DU] = max_i32(spec->dense_width, 1);
    if (spec->latent.rank == 0)
        return FORWARD_LQ;
    set_latents(spec, widths);
    return FORWARD_REGISTERS;
}

/* ---- The rotation. ---- */

/* Llama-3's scaling: long wavelengths are stretched by factor, short ones are kept, and those
 * between are blended. */
static double scale_llama3(const struct rope_scaling *scaling, double frequency)
{
    const double two_pi = 6.283185307179586;
    double wavelength = two_pi / frequency;
    double n = (double)scaling->n_positions_original;
    double low = n / (double)scaling->low_freq_factor, high = n / (double)scaling->high_freq_factor;
    if (wavelength < high)
        return frequency;
    if (wavelength > low)
        return frequency / (double)scaling->factor;
    double smooth = (n / wavelength - (double)scaling->low_freq_factor) /
                    ((double)scaling->high_freq_factor - (double)scaling->low_freq_factor);
    return (1.0 - smooth) * frequency / (double)scaling->factor + smooth * frequency;
}

/* YaRN's limit: returns the index of the frequency that turns n_turns times within the original
 * context. */
static double yarn_limit(const struct rope_scaling *scaling, double base, int32_t n_dims,
                         double n_turns)
{
    const double two_pi = 6.283185307179586;
    double n = (double)scaling->n_positions_original / (n_turns * two_pi);
    return (double)n_dims * num_log(n) / (2.0 * num_log(base));
}

/* Scales frequency i of n_dims / 2: fast ones are kept, slow ones are divided, and those between
 * are blended. */
static double scale_yarn(const struct rope_scaling *scaling, double base, int32_t n_dims, int32_t i,
                         double frequency)
{
    double low = yarn_limit(scaling, base, n_dims, (double)scaling->beta_fast);
    double high = yarn_limit(scaling, base, n_dims, (double)scaling->beta_slow);
    if (!scaling->is_untruncated) {
        low = num_floor(low);
        high = -num_floor(-high);
    }
    low = low > 0.0 ? low : 0.0;
    high = high < (double)(n_dims - 1) ? high : (double)(n_dims - 1);
    if (high == low)
        high += 0.001;
    double ramp = ((double)i - low) / (high - low);
    ramp = ramp < 0.0 ? 0.0 : ramp > 1.0 ? 1.0 : ramp;
    return frequency / (double)scaling->factor * ramp + frequency * (1.0 - ramp);
}

int run_forward_ropes(const struct model_spec *spec)
{
    return spec->position == POSITION_LEARNED ? 0 : spec->n_full_layers > 0 ? 2 : 1;
}

float run_forward_frequencies(const struct model_spec *spec, const struct tensor *rope_factors,
                              int rope, float *out)
{
    const struct rope_scaling *scaling = rope == 0 ? &spec->rope_scaling : &spec->rope_scaling_full;
    double base = (double)(rope == 0 ? spec->rope_base : spec->rope_base_full);
    float scale = scaling->attention_factor != 0 ? scaling->attention_factor : 1.0f;
    int32_t n = spec->n_rope_dims / 2;
    for (int32_t i = 0; i < n; i++) {
        double exponent = -2.0 * (double)i / (double)spec->n_rope_dims;
        double frequency = num_pow(base, exponent);
        if (scaling->kind == ROPE_SCALING_LINEAR)
            frequency /= (double)scaling->factor;
        else if (scaling->kind == ROPE_SCALING_LLAMA3)
            frequency = scale_llama3(scaling, frequency);
        else if (scaling->kind == ROPE_SCALING_YARN)
            frequency = scale_yarn(scaling, base, spec->n_rope_dims, i, frequency);
        out[i] = (float)frequency;
    }
    if (!rope_factors->data || rope_factors->n_columns < n)
        return scale;
    float factors[LIMIT_HEAD_DIM / 2];
    CHECK(rope_factors->n_columns <= LIMIT_HEAD_DIM / 2);
    quant_row_to_float(rope_factors, 0, factors);
    for (int32_t i = 0; i < n; i++)
        out[i] /= factors[i];
    return scale;
}
