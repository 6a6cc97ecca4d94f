/* The settings of a server, read and checked in one way: by `serve` at its start, by its reload
 * (SIGHUP) and by `config check`. */
#pragma once
#include "config/config.h"

struct serve_words { /* a command line */
    const char *doc;
    int argc;
    char **argv;
};
/* The file, over it the environment, over that the command line. A reload reads regular files only:
 * a pipe has given all that it had, or makes its reader wait. */
enum status serve_settings_read(struct config *config, const struct serve_words *words,
                                bool is_reload, struct fault *fault) MUST_USE;
/* Takes the keys out of their files. */
enum status serve_settings_read_keys(struct config *config, bool is_reload,
                                     struct fault *fault) MUST_USE;
/* Everything but the models' files. */
enum status serve_settings_check(const struct config *config, struct fault *fault) MUST_USE;
/* All three in this order. The caller frees the config, also after a fault. */
enum status serve_settings_open(struct config *config, const struct serve_words *words,
                                bool is_reload, struct fault *fault) MUST_USE;
