/* Iteration: what Python's iter() and next() do for each kind of value. */
#pragma once
#include "template/jinja.h"

/* Opens an iterator over v. Returns NULL, with the run failed, when Python can't iterate over v. An
 * iterator is its own iterator. */
struct jinja_iter *jinja_iter_open(struct jinja_run *run, struct jinja_value v);
bool jinja_iter_can_open(struct jinja_value v);
/* Does Python's reversed(). Returns NULL without a failure when v can't be reversed. */
struct jinja_iter *jinja_iter_open_reversed(struct jinja_run *run, struct jinja_value v);
bool jinja_iter_next(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out);
/* Returns a generator with this next function. */
struct jinja_value jinja_iter_generator(struct jinja_run *run, struct jinja_value of, void *state,
                                        bool (*next)(struct jinja_run *run, struct jinja_iter *iter,
                                                     struct jinja_value *out));
/* Sets the next item of a generator's source. The first call opens the source. */
bool jinja_iter_source(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out);
/* Does list(v): returns a LIST of the items that are left. */
struct jinja_value jinja_iter_list(struct jinja_run *run, struct jinja_value v);

/* Makes a LoopContext. Returns NULL, with the run failed, when it can't iterate over the items. */
struct jinja_loop *jinja_iter_loop(struct jinja_run *run, struct jinja_value items);
bool jinja_iter_loop_next(struct jinja_run *run, struct jinja_loop *loop, struct jinja_value *out);
bool jinja_iter_loop_peek(struct jinja_run *run, struct jinja_loop *loop); /* into loop->after */
int64_t jinja_iter_loop_length(struct jinja_run *run, struct jinja_loop *loop);
