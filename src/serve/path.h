/* Which files an operator may have loaded by their path. */
#pragma once
#include "config/config.h"

/* The real path of a model's file or directory, which has to lie in one of the config's model_dirs,
 * all symbolic links resolved; so have the other parts of a split file, and all that a directory
 * holds. The text lies in the pile. The files are checked once, so a process that can write in
 * a model directory can change them afterwards. */
enum status serve_path_resolve(const struct config *config, const char *path, struct pile *pile,
                               const char **real, struct fault *fault) MUST_USE;
