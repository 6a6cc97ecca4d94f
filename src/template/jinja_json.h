/* json.dumps and json.loads of Jinja values. */
#pragma once
#include "template/jinja_args.h"

/* The filter tojson as transformers defines it. */
struct jinja_value jinja_json_dump(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args);
/* The filters from_json and fromjson. */
struct jinja_value jinja_json_load(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args);
/* Converts a parsed JSON value (a json_t of jansson). what is its name in the sentence about too
 * deep nesting. */
struct jinja_value jinja_json_value(struct jinja_run *run, const void *json, const char *what);
