/* How long requests waited for their tokens, for a submitter that is told of few of them. */
#pragma once
#include "engine/state.h"

/* Notes when the tokens of a batch that has ended came, before any record changes. It does nothing
 * in an engine that does not tell of waits. */
void engine_waits_note(struct engine *engine, const struct engine_flight *flight,
                       const struct engine_exec_done *done);
