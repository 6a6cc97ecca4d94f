/* Parses the options of verbs that have many of their own, from a table of rows with types and
 * destinations. */
#pragma once
#include "base/status.h"

enum flags_type {
    FLAGS_TEXT,     /* const char * */
    FLAGS_FILE,     /* const char *: a file to write, checked to be writable */
    FLAGS_TEXTS,    /* struct flags_texts: may be given many times */
    FLAGS_I64,      /* int64_t, within [min, max] */
    FLAGS_F64,      /* double, within [min, max] */
    FLAGS_DURATION, /* int64_t ns, "10m"; within [min, max] */
    FLAGS_BYTES,    /* int64_t, "80GiB"; within [min, max] */
    FLAGS_SWITCH,   /* bool, takes no value */
};
enum { FLAGS_TEXTS_MAX = 64, FLAGS_ROWS_MAX = 64 };
struct flags_texts {
    const char *at[FLAGS_TEXTS_MAX];
    int n;
};
struct flags_row {
    const char *name, *word; /* --name WORD */
    enum flags_type type;
    void *value;
    double min, max; /* both 0: any that is not negative */
    const char *help;
    bool *is_given; /* set when it was there; may be NULL */
};
struct flags {
    const char *doc, *arguments; /* as argp shows them */
    const struct flags_row *rows;
    int n_rows, n_plain_min, n_plain_max;
};
/* What a command line gives: which rows, with which texts, in its order. The texts are argv's. */
struct flags_given {
    struct flags_said {
        int row;
        const char *text; /* NULL: a switch */
    } * at;
    int n;
};
/* Reads a command line once, checks each value and sets none. False when a value is wrong: the
 * sentence is printed. Options that are not there end the program, as does --help. plain:
 * (n_plain_max). given is to be freed also where it is false. */
bool flags_read(const struct flags *flags, int argc, char **argv, struct flags_given *given,
                const char **plain, int *n_plain) MUST_USE;
/* Sets the values, over whatever the rows' values are by now. False as above. */
bool flags_apply(const struct flags *flags, const struct flags_given *given) MUST_USE;
bool flags_has(const struct flags *flags, const struct flags_given *given, const char *name);
void flags_free(struct flags_given *given);
/* All of these: what is given is set. False as above. */
bool flags_parse(const struct flags *flags, int argc, char **argv, const char **plain,
                 int *n_plain) MUST_USE;
/* Sets one row's value from text, as a file of settings does. The text must outlive the value. */
enum status flags_assign(const struct flags_row *row, const char *text,
                         struct fault *fault) MUST_USE;
