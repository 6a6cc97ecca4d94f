/* How each key of a Hugging Face config.json is treated. */
#pragma once
#include "weights/json.h"
#include "weights/keys.h"

/* Returns all rows; a NULL name ends them. Families are values of model_type. */
const struct weights_key *weights_hf_keys(void);
/* Refuses the first key with a value that would need an unsupported computation. */
enum status weights_hf_keys_check(const struct weights_json_from *config,
                                  const char *family) MUST_USE;
/* Adds the keys of the configuration that have no row for this family. */
void weights_hf_keys_unknown(const struct weights_json_node *config, const char *family,
                             struct pile *pile, struct weights_unknown *unknown);
