/* Gets a page into memory, bounded in bytes and time. */
#pragma once
#include "base/status.h"
#include "base/str.h"

enum { FETCH_PAGE_HEADERS = 4 };
struct fetch_page_options {
    const char *url;                         /* http:// or https:// */
    const char *headers[FETCH_PAGE_HEADERS]; /* "Name: value"; NULL: none */
    int64_t n_bytes_max;                     /* a longer page is refused */
    int32_t n_ms_max;                        /* from the first byte sent to the last one read */
};
/* Appends the page. *code is the status of the answer; redirects are not followed. IO: there was no
 * answer, or not in time. TOO_LARGE: the page is longer, or there is no memory for it. It blocks,
 * and takes no memory that a guard counts except for the page. */
enum status fetch_page(const struct fetch_page_options *options, struct str *out, int32_t *code,
                       struct fault *fault) MUST_USE;
