/* Filters that return a generator: map, select and similar ones, unique, batch, slice, items. */
#pragma once
#include "template/jinja_args.h"

enum jinja_select { /* bits */
                    JINJA_REJECTS = 1,
                    JINJA_OF_ATTRIBUTE = 2
};
jinja_callee jinja_generator_map, jinja_generator_select, jinja_generator_unique,
    jinja_generator_batch, jinja_generator_slice, jinja_generator_items;
