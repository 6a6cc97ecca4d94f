/* Submits choices as requests: seeds, ids, rules. */
#pragma once
#include "api/call_state.h"

void api_submit_rules(struct api_call *call);               /* what ends a choice */
void api_submit_open(struct api_call *call, int32_t index); /* sets its id and seed */
/* Charges the party for what engines hold while they guide its answers. Returns false, with the
 * error set, when the work has too little memory for that. */
bool api_submit_charge(struct api_call *call, const struct api_work *work, struct api_error *error);
bool api_submit(struct api_choice *choice); /* each choice once; false: the queue is full */
