/* The folders of the engines' disk tiers, before the engines open them. */
#pragma once
#include "config/config.h"

/* Checks that each engine could open its folder: kv_disk names a folder that this process may write
 * and that no other process uses. */
enum status serve_disk_check(const struct config *config, int n_engines,
                             struct fault *fault) MUST_USE;
