/* An engine's process: a unit (run/unit.h), and a loop that carries records between the unit and
 * the parent. */
#pragma once
#include "process/options.h"

/* Opens the device with its lanes. */
typedef enum status process_engine_open_device(const struct process_device *device,
                                               struct compute_device **out, struct fault *fault);
/* Opens the tokenizer of a model's file, which guides its requests with grammars. */
typedef enum status process_engine_open_tokenizer(struct tokenizer **out,
                                                  const struct weights_card *card,
                                                  struct fault *fault);
/* Runs until the parent closes its end. Returns the exit code. */
int process_engine_run(process_engine_open_device *open_device,
                       process_engine_open_tokenizer *open_tokenizer);
