/* The last steps of binding. */
#include "weights/bind_end.h"
#include "weights/cut.h"
#include <string.h>

/* falcon in GGUF: of two norms the second is attention's. */
static void swap_norms(const struct model_spec *spec, struct model_weights *model)
{
    for (int32_t i = 0; i < spec->n_layers; i++) {
        struct layer_weights *w = &model->layers[i];
        struct tensor norm = w->attention_norm, bias = w->attention_norm_bias;
        if (w->ffn_norm.data == NULL)
            continue;
        w->attention_norm = w->ffn_norm;
        w->attention_norm_bias = w->ffn_norm_bias;
        w->ffn_norm = norm;
        w->ffn_norm_bias = bias;
    }
}

/* Latent attention: queries are made by two matrices or by one, and files have one of two forms for
 * keys and values. */
static bool lacks_latents(const struct model_spec *spec, const struct layer_weights *w)
{
    bool has_rank = spec->latent.query_rank > 0;
    return spec->latent.rank > 0 &&
           (w->latents[0].key.data == NULL || w->latents[0].value.data == NULL ||
            (w->q_a.data != NULL) != has_rank || (w->q_a_norm.data != NULL) != has_rank);
}

/* Checks the norms and matrices whose rows are optional because files have one of two names for
 * them, or because only some models of a family have them. */
static enum status check_layers(const struct model_spec *spec,
                                const struct weights_catalog *catalog, struct model_weights *model,
                                struct fault *fault)
{
    for (int32_t i = 0; i < spec->n_layers; i++) {
        const struct layer_weights *w = &model->layers[i];
        bool has_norm = w->attention_norm.data != NULL, has_ffn_norm = w->ffn_norm.data != NULL;
        const char *missing =
            !spec->has_no_pre_norms && !has_norm ? "norm ahead of attention"
            : !spec->has_no_pre_norms && !spec->is_parallel && !has_ffn_norm
                ? "norm ahead of the feed-forward"
            : spec->norms_sums &&
                    (!has_norm || !has_ffn_norm || w->attention_norm_bias.data == NULL ||
                     w->ffn_norm_bias.data == NULL)
                ? "norm behind attention or the feed-forward"
            : model_spec_has_experts(spec, i) &&
                    (w->experts[0].gate.data == NULL || w->experts[0].up.data == NULL ||
                     w->experts[0].down.data == NULL)
                ? "matrix of experts"
            : w->q.data == NULL || w->k.data == NULL || w->v.data == NULL
                ? "matrix of queries, keys or values"
            : lacks_latents(spec, w) ? "matrix or norm of latent attention"
                                     : NULL;
        if (missing == NULL && ((w->q_norm.data != NULL) != spec->has_qk_norm ||
                                (w->k_norm.data != NULL) != spec->has_qk_norm))
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "%s: layer %d %s tensors of norms of queries or keys; the model %s",
                             catalog->label, i, spec->has_qk_norm ? "lacks" : "has",
                             spec->has_qk_norm ? "uses some" : "uses none");
        if (missing != NULL)
            return fault_set(fault, STATUS_BAD_INPUT, "%s: a tensor is missing: layer %d has no %s",
                             catalog->label, i, missing);
    }
    return STATUS_OK;
}

/* Checks an encoder's norm of embeddings and its head. The head of a model that makes embeddings is
 * not used. */
static enum status check_encoder(const struct model_spec *spec,
                                 const struct weights_catalog *catalog, struct model_weights *model,
                                 struct fault *fault)
{
    bool has_norm = model->embedding_norm.data != NULL && model->embedding_norm_bias.data != NULL;
    bool has_head = model->pooler.data != NULL && model->pooler_bias.data != NULL &&
                    model->labels.data != NULL && model->labels_bias.data != NULL;
    if (spec->has_embedding_norm && !has_norm)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: a tensor is missing: there is no norm of the embeddings",
                         catalog->label);
    if (spec->n_labels > 0 && !has_head)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: a tensor of the classifier is missing",
                         catalog->label);
    if (spec->n_labels == 0)
        model->pooler = model->pooler_bias = (struct tensor){ 0 };
    return STATUS_OK;
}

/* Multiplies the output norm by the scale of logits, so that the output matrix stays as it is. */
static enum status scale(const struct model_spec *spec, struct weights_catalog *catalog,
                         struct model_weights *model, struct fault *fault)
{
    if (spec->logit_scale == 1.0f)
        return STATUS_OK;
    if (model->output_bias.data != NULL || dtype_info(model->output_norm.dtype)->n_block != 1)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: logits are scaled by %g, which is not supported beside %s",
                         catalog->label, (double)spec->logit_scale,
                         model->output_bias.data != NULL ? "a tensor of biases of the output"
                                                         : "a quantized output norm tensor");
    model->output_norm = weights_cut_scaled(&model->output_norm, spec->logit_scale, catalog->pile);
    if (model->output_norm_bias.data != NULL)
        model->output_norm_bias =
            weights_cut_scaled(&model->output_norm_bias, spec->logit_scale, catalog->pile);
    return STATUS_OK;
}

enum status weights_bind_end(const struct model_spec *spec, bool is_falcon,
                             struct weights_catalog *catalog, struct model_weights *model,
                             struct fault *fault)
{
    if (is_falcon)
        swap_norms(spec, model);
    if (spec->is_tied)
        model->output = model->token_embedding;
    enum status status = check_layers(spec, catalog, model, fault);
    if (status == STATUS_OK)
        status = check_encoder(spec, catalog, model, fault);
    return status != STATUS_OK ? status : scale(spec, catalog, model, fault);
}

enum status weights_bind_end_copy(const struct tensor *embedding,
                                  const struct weights_entry *output,
                                  const struct weights_catalog *catalog, struct fault *fault)
{
    struct tensor copy = weights_catalog_tensor(output);
    size_t n_bytes = (size_t)(embedding->row_bytes * embedding->n_rows);
    bool is_alike = copy.data != NULL && embedding->apart == NULL &&
                    copy.dtype == embedding->dtype && copy.n_rows == embedding->n_rows &&
                    copy.n_columns == embedding->n_columns;
    if (is_alike && memcmp(copy.data, embedding->data, n_bytes) == 0)
        return STATUS_OK;
    return fault_set(fault, STATUS_UNSUPPORTED,
                     "%s: tensor %s is not the token embedding, although config.json's "
                     "tie_word_embeddings is true (false makes it the output matrix)",
                     catalog->label, output->name);
}

enum status weights_bind_end_factors(const struct weights_entry *entry,
                                     const struct tensor *factors,
                                     const struct weights_catalog *catalog, struct fault *fault)
{
    for (int32_t i = 0; i < factors->n_columns; i++) {
        float factor = weights_cut_element(factors, i);
        if (!(factor >= 1e-6f && factor <= 1e6f))
            return fault_set(fault, STATUS_BAD_INPUT,
                             "%s: tensor %s holds the factor %g, expected 1e-6 to 1e6",
                             catalog->label, entry->name, (double)factor);
    }
    return STATUS_OK;
}
