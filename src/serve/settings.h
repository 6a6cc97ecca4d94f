/* Reads and checks the settings of a server in one way, for `serve` at its start, for its reload
 * (SIGHUP) and for `config check`. */
#pragma once
#include "config/config.h"

struct serve_words { /* a command line */
    const char *doc;
    int argc;
    char **argv;
};
/* Reads the file, overridden by the environment, overridden by the command line. A reload reads
 * regular files only, because a pipe is empty after the first read, or makes its reader wait. */
enum status serve_settings_read(struct config *config, const struct serve_words *words,
                                bool is_reload, struct fault *fault) MUST_USE;
/* Takes the keys out of their files. */
enum status serve_settings_read_keys(struct config *config, bool is_reload,
                                     struct fault *fault) MUST_USE;
/* Everything but the models' files. */
enum status serve_settings_check(const struct config *config, struct fault *fault) MUST_USE;
/* Does all three in this order. The caller frees the config, also after a fault. */
enum status serve_settings_open(struct config *config, const struct serve_words *words,
                                bool is_reload, struct fault *fault) MUST_USE;
