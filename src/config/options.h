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
/* Parses argv for a verb that takes settings and up to n_max plain arguments. Returns false when a
 * value is wrong. Options and arguments that the verb lacks end the program with a sentence. */
bool options_parse(const struct options_verb *verb, int argc, char **argv, struct config *config,
                   const char **plain, int *n_plain);
