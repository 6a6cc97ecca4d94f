/* The JSON bodies of requests to etcd's HTTP gateway. Keys and values travel in base64, and 64-bit
 * numbers as text. Only this file writes bodies, because etcd ignores fields that it does not
 * know. */
#pragma once
#include "store/store.h"

/* Appends the call's body. Returns the path of its function under the endpoint. */
const char *etcd_body_of_call(const struct store_call *call, struct str *out);
/* Appends the body of a watch on all keys with the prefix, from this revision on. Returns its
 * path. */
const char *etcd_body_of_watch(const char *prefix, int64_t revision, struct str *out);
