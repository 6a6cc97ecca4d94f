/* How the vector of a text is made of its rows, by the files of sentence-transformers. */
#pragma once
#include "core/model_spec.h"
#include "weights/json.h"

/* Reads modules.json of the directory, and the pooling that it names. Without these files the spec
 * stays as it is. */
enum status weights_hf_pooling(const char *directory, struct model_spec *spec,
                               struct fault *fault) MUST_USE;
