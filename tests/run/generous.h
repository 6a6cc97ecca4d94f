/* A planted fault: an executor that accepts one draft more than it may. */
#pragma once
#include "engine/exec.h"

/* Returns an executor that passes all calls on to `exec`. It accepts the first refused draft of
 * each item whose drafts go on behind it. One at a time. */
struct engine_exec generous_exec(struct engine_exec exec);
