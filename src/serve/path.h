/* Decides which files an operator may load by their path. */
#pragma once
#include "config/config.h"

/* Finds the real path of a model's file or directory, with all symbolic links resolved. It must lie
 * in one of the config's model_dirs, and so must the other parts of a split file, and all files in
 * a directory. The text lies in the pile. The files are checked once, so a process that can write
 * in a model directory can change them afterwards. */
enum status serve_path_resolve(const struct config *config, const char *path, struct pile *pile,
                               const char **real, struct fault *fault) MUST_USE;
