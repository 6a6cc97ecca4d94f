/* The first text of a pair has type 0 and the second one type 1. Positions of RoBERTa begin behind
 * the padding's. A cross-encoder's score is a matrix of one row times the tanh of another matrix
 * times the first position's row. */
#include "weights/hf_encoder.h"
#include <string.h>

/* Reads how many labels a classifier has: id2label lists them, 2 if there is no list. */
static enum status read_labels(const struct weights_json_from *config, struct model_spec *spec)
{
    const struct weights_json_node *list = weights_json_find(config->object, "architectures");
    const struct weights_json_node *labels = weights_json_find(config->object, "id2label");
    const struct weights_json_node *name =
        list != NULL && list->kind == WEIGHTS_JSON_ARRAY && list->n > 0 ? list + 1 : NULL;
    int64_t n = labels != NULL && labels->kind == WEIGHTS_JSON_OBJECT ? labels->n : 2;
    if (name == NULL || name->kind != WEIGHTS_JSON_TEXT ||
        strstr(name->text, "ForSequenceClassification") == NULL)
        return STATUS_OK;
    if (n != 1)
        return fault_set(config->fault, STATUS_UNSUPPORTED,
                         "config.json: the classifier has %lld labels, and only cross-encoders "
                         "with one are supported",
                         (long long)n);
    spec->n_labels = 1;
    spec->pooling = POOLING_FIRST;
    spec->is_pooling_given = true;
    return STATUS_OK;
}

enum status weights_hf_encoder(const struct weights_json_from *config, struct model_spec *spec)
{
    bool is_bert = strcmp(spec->architecture, "bert") == 0;
    int64_t n_types = 2, padding = 1;
    if (!is_bert && strcmp(spec->architecture, "roberta") != 0 &&
        strcmp(spec->architecture, "xlm-roberta") != 0)
        return STATUS_OK;
    enum status status = weights_json_i64(config, "type_vocab_size", 1, 16, &n_types);
    if (status == STATUS_OK && !is_bert)
        status = weights_json_i64(config, "pad_token_id", 0, LIMIT_CONTEXT / 2, &padding);
    if (status != STATUS_OK)
        return status;
    spec->is_encoder = spec->norms_sums = spec->has_embedding_norm = true;
    spec->is_tied = true; /* there is no output matrix */
    spec->n_types = (int32_t)n_types;
    spec->position_offset = is_bert ? 0 : (int32_t)padding + 1;
    spec->n_positions_max -= spec->position_offset;
    return read_labels(config, spec);
}
