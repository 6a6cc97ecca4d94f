/* A model that operators deploy into a running cluster, as the store has it:
 *
 *   PREFIX desired/definitions/NAME   {"life":51234,"path":"...","sha256":"...","ctx":4096}
 *
 * `path` is a file of each machine, inside its model_dirs, or an http:// or https:// address.
 * `life` tells the model from an earlier one of the same name, and is the same in all processes.
 * Values come from outside, so each is checked as a configuration is before anything uses it. */
#pragma once
#include "config/config.h"

enum { FLEET_DEFINITION_BYTES = 4096 };
#define FLEET_DEFINITION_FOLDER "desired/definitions/"

struct fleet_definition_words { /* as an operator gives them; NULL: not given */
    const char *path, *url, *sha256, *context, *kv_type;
};
/* Returns whether any word is given, so that a model is defined. */
bool fleet_definition_is_given(const struct fleet_definition_words *words);
/* Appends the value, after it was checked. */
enum status fleet_definition_write(struct str *out, const char *name,
                                   const struct fleet_definition_words *words, uint16_t life,
                                   struct fault *fault) MUST_USE;
/* Reads the value into a new configuration with this one model, which the caller frees with
 * config_free and mem_give; NULL after a fault. */
enum status fleet_definition_read(const char *name, struct view value, struct config **out,
                                  uint16_t *life, struct fault *fault) MUST_USE;
/* Returns whether both values say the same, apart from the life. */
bool fleet_definition_is_equal(struct view a, struct view b);
