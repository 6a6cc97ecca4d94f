/* Origins of web pages: which pages may call where no key keeps strangers out, and which headers
 * they may send.
 *
 * A browser sends simple requests for any page that its user opens, even to addresses of the user's
 * own machine. POST /sleep needs no permission from us. The browser does name the page, in the
 * header Origin. A page whose own host name suddenly resolves to 127.0.0.1 has our origin; only
 * Host exposes it. */
#pragma once
#include "api/http_parse.h"

/* Returns true when no page is named, or when it is one of cors_origin (NULL: none; "*": all) or of
 * the server itself. */
bool api_origin_is_allowed(const struct api_http_head *head, const char *cors_origin);
/* Copies the headers that a page asks to send (Access-Control-Request-Headers), to be granted
 * unchanged. Returns false when there are none, when they take more than n_max - 1 bytes, or when
 * they are no list of names. */
bool api_origin_asked_headers(const struct api_http_head *head, char *out, size_t n_max);
/* Returns whether the request names the server localhost or an address, not a name that others
 * could give it. */
bool api_origin_is_direct(const struct api_http_head *head);
