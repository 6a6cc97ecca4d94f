/* Large answers on their way out: handed over as they lie, in slices. */
#pragma once
#include "base/str.h"

struct evbuffer;

/* Adds the text behind what is there, and takes it over: it is freed when its last byte left. False
 * when there is no memory for all of it: then a part may have been added. */
bool api_http_out_add(struct evbuffer *out, struct str *text) MUST_USE;
