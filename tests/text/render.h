/* Tables of templates and what Python's jinja2 renders, for the tests of the parts of Jinja. */
#pragma once
#include <stddef.h>

struct render_case {
    const char *source;
    const char *kwargs;   /* JSON */
    const char *expected; /* NULL: refused */
};
/* Fails the running test with every case that differs. */
void render_expect(const struct render_case *cases, size_t n);
