/* BERT and RoBERTa name their layers alike. Older files call a norm's weight gamma and its bias
 * beta. Heads of training are ignored. */
#include "weights/names_encoder.h"
#include <stddef.h>

enum { OPT = WEIGHTS_NAME_OPTIONAL, IGNORED = WEIGHTS_NAME_IGNORED };

#define MATRIX(role, flags, name)                                                                  \
    { role, flags, name ".weight" },                                                               \
    {                                                                                              \
        role##_BIAS, flags, name ".bias"                                                           \
    }
#define NORM(role, name)                                                                           \
    MATRIX(role, OPT, name), { role, OPT, name ".gamma" },                                         \
    {                                                                                              \
        role##_BIAS, OPT, name ".beta"                                                             \
    }
#define DROPPED(name)                                                                              \
    { 0, IGNORED, name ".weight" },                                                                \
    {                                                                                              \
        0, IGNORED, name ".bias"                                                                   \
    }
#define LAYERS                                                                                     \
    { WEIGHTS_TOKEN_EMBEDDING, 0, "*embeddings.word_embeddings.weight" },                          \
        { WEIGHTS_POSITION_EMBEDDING, 0, "*embeddings.position_embeddings.weight" },               \
        { WEIGHTS_TYPE_EMBEDDING, 0, "*embeddings.token_type_embeddings.weight" },                 \
        NORM(WEIGHTS_EMBEDDING_NORM, "*embeddings.LayerNorm"),                                     \
        { 0, IGNORED, "*embeddings.position_ids" }, { 0, IGNORED, "*embeddings.token_type_ids" },  \
        MATRIX(WEIGHTS_Q, 0, "*encoder.layer.%d.attention.self.query"),                            \
        MATRIX(WEIGHTS_K, 0, "*encoder.layer.%d.attention.self.key"),                              \
        MATRIX(WEIGHTS_V, 0, "*encoder.layer.%d.attention.self.value"),                            \
        MATRIX(WEIGHTS_O, 0, "*encoder.layer.%d.attention.output.dense"),                          \
        NORM(WEIGHTS_ATTENTION_NORM, "*encoder.layer.%d.attention.output.LayerNorm"),              \
        MATRIX(WEIGHTS_UP, 0, "*encoder.layer.%d.intermediate.dense"),                             \
        MATRIX(WEIGHTS_DOWN, 0, "*encoder.layer.%d.output.dense"),                                 \
        NORM(WEIGHTS_FFN_NORM, "*encoder.layer.%d.output.LayerNorm")

const struct weights_name weights_names_encoder_hf_bert[] = {
    LAYERS,
    MATRIX(WEIGHTS_POOLER, OPT, "*pooler.dense"),
    MATRIX(WEIGHTS_LABELS, OPT, "classifier"),
    { 0, IGNORED, "cls.predictions.bias" },
    DROPPED("cls.predictions.decoder"),
    DROPPED("cls.predictions.transform.dense"),
    DROPPED("cls.predictions.transform.LayerNorm"),
    { 0, IGNORED, "cls.predictions.transform.LayerNorm.gamma" },
    { 0, IGNORED, "cls.predictions.transform.LayerNorm.beta" },
    DROPPED("cls.seq_relationship"),
    { 0, 0, NULL },
};
const struct weights_name weights_names_encoder_hf_roberta[] = {
    LAYERS,
    DROPPED("*pooler.dense"),
    MATRIX(WEIGHTS_POOLER, OPT, "classifier.dense"),
    MATRIX(WEIGHTS_LABELS, OPT, "classifier.out_proj"),
    { 0, IGNORED, "lm_head.bias" },
    DROPPED("lm_head.decoder"),
    DROPPED("lm_head.dense"),
    DROPPED("lm_head.layer_norm"),
    { 0, 0, NULL },
};
