/* What each key of a Hugging Face config.json is to us. */
#pragma once
#include "weights/json.h"
#include "weights/keys.h"

/* All rows, which end at name NULL; families are values of model_type. */
const struct weights_key *weights_hf_keys(void);
/* Refuses the first key whose value asks for what is not computed here. */
enum status weights_hf_keys_check(const struct weights_json_from *config,
                                  const char *family) MUST_USE;
/* Adds the keys of the configuration that have no row for this family. */
void weights_hf_keys_unknown(const struct weights_json_node *config, const char *family,
                             struct pile *pile, struct weights_unknown *unknown);
