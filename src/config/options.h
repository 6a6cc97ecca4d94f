/* Makes the settings command line options: every global key of the configuration is an option of
 * the same name. */
#pragma once
#include "config/config.h"

struct options_extra { /* an option of this verb alone */
    const char *name, *help;
    const char **value; /* set to its text; to "" when it takes no text */
    bool takes_value;
    char letter; /* its short form, 0 = none */
};
struct options_verb {
    const char *doc, *arguments;
    bool has_config;  /* takes the configuration's settings */
    const char *keys; /* only these keys, separated by blanks, and no --model; NULL: all */
    bool *is_json;    /* --json; NULL: not offered */
    int n_min, n_max;
    const struct options_extra *extras;
    int n_extras;
    struct fault *fault; /* gets the sentence of a wrong value; NULL: it is printed */
};
/* The settings that a command line gives, in its order. The texts are argv's. */
struct options_given {
    struct options_said {
        int key;
        const char *text;
    } * at;
    int n;
};
/* Reads the command line of a verb that takes settings and up to n_max plain arguments. Its options
 * are collected; no setting is checked or changed. Returns false without memory. Options and
 * arguments that the verb lacks end the program with a sentence. Free `given` in either case. */
bool config_options_read(const struct options_verb *verb, int argc, char **argv,
                         struct options_given *given, const char **plain, int *n_plain) MUST_USE;
/* Sets what was given, over what the config has. Returns false when a value is wrong. */
bool config_options_apply(const struct options_verb *verb, const struct options_given *given,
                          struct config *config) MUST_USE;
void config_options_free(struct options_given *given);
/* Does all three: reads the command line and sets what it gives. */
bool config_options_parse(const struct options_verb *verb, int argc, char **argv,
                          struct config *config, const char **plain, int *n_plain);
