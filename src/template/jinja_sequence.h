/* Filters on sequences that compute their result at once. */
#pragma once
#include "template/jinja_args.h"

jinja_callee jinja_sequence_list, jinja_sequence_join, jinja_sequence_end, jinja_sequence_reverse,
    jinja_sequence_dictsort, jinja_sequence_sort, jinja_sequence_groupby, jinja_sequence_extreme,
    jinja_sequence_sum;
