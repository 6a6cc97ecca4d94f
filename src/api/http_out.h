/* Sends large answers in slices without copying them. */
#pragma once
#include "base/str.h"

struct evbuffer;

/* Adds the text behind what is there and takes it over: it is freed when its last byte is sent.
 * Returns false when there is no memory for all of it; then a part may have been added. */
bool api_http_out_add(struct evbuffer *out, struct str *text) MUST_USE;
