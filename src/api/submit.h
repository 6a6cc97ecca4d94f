/* Submits choices as requests: seeds, ids, rules. */
#pragma once
#include "api/call_state.h"

void api_submit_rules(struct api_call *call);               /* what ends a choice */
void api_submit_open(struct api_call *call, int32_t index); /* sets its id and seed */
bool api_submit(struct api_choice *choice); /* each choice once; false: the queue is full */
