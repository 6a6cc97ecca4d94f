/* A scenario as YAML, which `shoal sim` reads. */
#pragma once
#include "base/str.h"
#include "scenario/scenario.h"

/* Settings, services, nodes and engines, without what is the default: read again, it is the same
 * scenario. */
void scenario_write(const struct scenario *scenario, struct str *out);
