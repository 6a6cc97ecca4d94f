/* What a running server may take over from settings that were read again. */
#pragma once
#include "cmd/config.h"

/* May the fresh settings follow the old ones? A fault names what changes with a restart only, or
 * which key would be lost. Keys, tenants, certificate files, log_level, log_json and keyless change
 * while a server runs; the last key, and the admin key, go away only where keyless says so. */
enum status serve_reload_check(const struct config *old, const struct config *fresh,
                               struct fault *fault) MUST_USE;
