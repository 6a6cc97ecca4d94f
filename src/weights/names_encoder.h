/* The names of tensors of encoders in Hugging Face files. */
#pragma once
#include "weights/name.h"

extern const struct weights_name weights_names_encoder_hf_bert[];
extern const struct weights_name weights_names_encoder_hf_roberta[];
