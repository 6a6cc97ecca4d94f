/* Other nodes as a source of model files: model_peers of the configuration. */
#pragma once
#include "config/config.h"
#include "fetch/options.h"

/* self: the configuration, which is lent. */
struct fetch_peers serve_peers(const struct config *config);
