/* Filters on sequences. */
#pragma once
#include "text/jinja_eval.h"

enum jinja_select {
    JINJA_SELECT = 0,
    JINJA_REJECT = 1,
    JINJA_SELECT_ATTR = 2,
    JINJA_REJECT_ATTR = 3
};

struct jinja_value jinja_sequence_list(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_args *args, int variant);
struct jinja_value jinja_sequence_join(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_args *args, int variant);
struct jinja_value jinja_sequence_end(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_args *args, int is_last);
struct jinja_value jinja_sequence_reverse(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_args *args, int variant);
struct jinja_value jinja_sequence_items(struct jinja_run *run, struct jinja_value v,
                                        const struct jinja_args *args, int sorts);
struct jinja_value jinja_sequence_sort(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_args *args, int variant);
struct jinja_value jinja_sequence_unique(struct jinja_run *run, struct jinja_value v,
                                         const struct jinja_args *args, int variant);
struct jinja_value jinja_sequence_extreme(struct jinja_run *run, struct jinja_value v,
                                          const struct jinja_args *args, int is_max);
struct jinja_value jinja_sequence_sum(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_args *args, int variant);
struct jinja_value jinja_sequence_map(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_args *args, int variant);
struct jinja_value jinja_sequence_select(struct jinja_run *run, struct jinja_value v,
                                         const struct jinja_args *args, int how);
struct jinja_value jinja_sequence_attr(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_args *args, int variant);
