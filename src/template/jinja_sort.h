/* Stable sorting, as in Python, in a bounded number of steps. */
#pragma once
#include "template/jinja.h"

/* Sorts by the keys of the pairs. */
void jinja_sort(struct jinja_run *run, struct jinja_pair *at, int64_t n, bool descends);
/* Returns the pairs of a dict in the order of their keys. */
const struct jinja_pair *jinja_sort_pairs(struct jinja_run *run, const struct jinja_dict *dict);
