/* Opens a model's file: its weights, the type of its cache, its tokenizer and template. */
#include "serve/model_file.h"
#include "weights/weights.h"

enum status model_file_open(struct weights **weights, struct model_card *card,
                            const struct model_file_options *options, struct fault *fault)
{
    enum status status = weights_open(weights, options->path, fault);
    *card = (struct model_card){ 0 };
    if (status != STATUS_OK)
        return status;
    status = model_spec_check_kv(weights_spec(*weights), options->name, options->kv_dtype, fault);
    if (status == STATUS_OK)
        status = model_card_open(card, options->name, options->template, *weights, fault);
    if (status != STATUS_OK) {
        model_card_close(card);
        weights_close(*weights);
        *weights = NULL;
    }
    return status;
}
