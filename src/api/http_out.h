/* Large answers on their way out: handed over as they lie, in slices. */
#pragma once
#include "base/str.h"

struct evbuffer;

/* Adds the text behind what is there, and takes it over: it is freed when its last byte left. */
void api_http_out_add(struct evbuffer *out, struct str *text);
