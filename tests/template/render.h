/* Tables of templates with the texts that Python's jinja2 renders, for the tests of the parts of
 * Jinja. */
#pragma once
#include <stddef.h>

struct render_case {
    const char *source;
    const char *kwargs;   /* JSON; NULL: those of render.c */
    const char *expected; /* NULL: refused */
    const char *says;     /* part of the sentence that refuses a construct by name */
};
/* Fails the running test, and prints every case that differs. */
void render_expect(const struct render_case *cases, size_t n);
