/* Choices as requests: seeds, ids, rules, and the way to the service. */
#pragma once
#include "api/call.h"

void api_submit_rules(struct api_call *call); /* what ends a choice, from the ask and the model */
void api_submit_open(struct api_call *call, int32_t index); /* a choice, with its id and seed */
bool api_submit(struct api_choice *choice);                 /* once; false = full */
