/* Notes how long requests waited for their tokens, for a submitter that gets few events. */
#pragma once
#include "engine/state.h"

/* Notes when the tokens of a finished batch came, before any record changes. It does nothing in an
 * engine that does not report waits. */
void engine_waits_note(struct engine *engine, const struct engine_flight *flight,
                       const struct engine_exec_done *done);
