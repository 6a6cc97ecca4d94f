/* Writing one value into a field: the part that "%..." and "{:...}" share. */
#pragma once
#include "template/jinja.h"

struct jinja_spec {
    char fill[5];             /* one letter, zero-terminated; "" is a space */
    char align;               /* '<', '>', '=', '^'; '\0': the type's own */
    char sign;                /* '+', '-', ' '; '\0' is '-' */
    bool alternate, zero;     /* "#", "0" */
    char grouping;            /* ',', '_' or '\0' */
    int64_t width, precision; /* precision -1: absent */
    char type;                /* '\0': absent */
};
/* Reads "[[fill]align][sign][#][0][width][grouping][.precision][type]". Returns false, with the run
 * failed, for another text. */
bool jinja_spec_parse(struct jinja_run *run, struct view text, struct jinja_spec *spec);
/* Cuts the text to the precision and fills it up to the width. It is aligned left unless the spec
 * differs. */
void jinja_spec_text(struct jinja_run *run, const struct jinja_spec *spec, struct view text,
                     struct str *out);
/* The type is d, b, o, x, X, n or c. */
void jinja_spec_int(struct jinja_run *run, const struct jinja_spec *spec, int64_t value,
                    struct str *out);
/* The type is e, E, f, F, g, G, n, % or '\0'. */
void jinja_spec_real(struct jinja_run *run, const struct jinja_spec *spec, double value,
                     struct str *out);
