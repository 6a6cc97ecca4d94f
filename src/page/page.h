/* The web page of a server: a dashboard and a chat. Its files are part of the program. */
#pragma once
#include "base/str.h"

struct page_file {
    const char *path; /* as in a request, "/" for the page itself */
    const char *type; /* of its content */
    struct view bytes;
};

/* Browsers are told this with each file: no script, style or picture of another origin, none inside
 * the page, and no frame around it. */
#define PAGE_SECURITY_POLICY                                                                       \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "                \
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Returns NULL when the page has no file of this path. */
const struct page_file *page_find(struct view path);
