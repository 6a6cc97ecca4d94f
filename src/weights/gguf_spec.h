/* The sizes of the model in a GGUF file. */
#pragma once
#include "core/model_spec.h"
#include "weights/gguf.h"
#include "weights/names.h"

/* Fills and checks the spec. *architecture is set to its row in the table. */
enum status weights_gguf_spec(const struct weights_gguf *gguf, struct model_spec *spec,
                              const struct weights_architecture **architecture,
                              struct fault *fault) MUST_USE;
