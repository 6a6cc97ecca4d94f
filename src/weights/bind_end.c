/* The last steps of binding. */
#include "weights/bind_end.h"
#include "weights/cut.h"

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

void weights_bind_end_settle(const struct model_spec *spec, bool is_falcon,
                             struct model_weights *model)
{
    if (is_falcon)
        swap_norms(spec, model);
    if (spec->is_tied)
        model->output = model->token_embedding;
}

/* Multiplies the output norm by the scale of logits, so that the output matrix stays as it is. */
enum status weights_bind_end_scale(const struct model_spec *spec, struct weights_catalog *catalog,
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
