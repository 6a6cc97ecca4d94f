/* Web pages: which may call where no key keeps strangers out, and which headers they may send.
 *
 * A browser sends simple requests for any page that its user looks at, to addresses of the user's
 * own machine, too: POST /sleep needs no permission of ours. It does say which page it was: Origin.
 * And a page whose own name leads to 127.0.0.1 all at once is of our origin: only Host tells. */
#pragma once
#include "api/http_parse.h"

/* No page is named, or one of cors_origin (NULL: none is; "*": all are) or of the server itself. */
bool api_origin_is_allowed(const struct api_http_head *head, const char *cors_origin);
/* The headers that a page asks to send (Access-Control-Request-Headers), to be granted as they are;
 * false when there are none, more than n_max - 1 bytes, or they are no list of names. */
bool api_origin_asked_headers(const struct api_http_head *head, char *out, size_t n_max);
/* The server is called localhost or by an address, not by a name that others could give it. */
bool api_origin_is_direct(const struct api_http_head *head);
