/* Writing one value into a field: the part that "%..." and "{:...}" share. */
#pragma once
#include "template/jinja.h"

struct jinja_spec {
    char fill[5];             /* one letter, zero-terminated; "" is a space */
    char align;               /* '<', '>', '=', '^'; '\0': the type's own */
    char sign;                /* '+', '-', ' '; '\0' is '-' */
    bool alternate, zero;     /* "#", "0" */
    char grouping;            /* ',', '_' or '\0' */
    int64_t width, precision; /* precision -1: not given */
    char type;                /* '\0': not given */
};
/* "[[fill]align][sign][#][0][width][grouping][.precision][type]"; false, with the run failed, when
 * it is none. */
bool jinja_spec_parse(struct jinja_run *run, struct view text, struct jinja_spec *spec);
/* The text cut to the precision and filled up to the width, aligned left unless the spec says. */
void jinja_spec_text(struct jinja_run *run, const struct jinja_spec *spec, struct view text,
                     struct str *out);
/* type: d, b, o, x, X, n or c. */
void jinja_spec_int(struct jinja_run *run, const struct jinja_spec *spec, int64_t value,
                    struct str *out);
/* type: e, E, f, F, g, G, n, % or '\0'. */
void jinja_spec_real(struct jinja_run *run, const struct jinja_spec *spec, double value,
                     struct str *out);
