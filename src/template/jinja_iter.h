/* Iteration: what Python's iter() and next() do for each kind of value. */
#pragma once
#include "template/jinja.h"

struct jinja_node;

struct jinja_iter {
    /* Sets the next item. Returns false at the end or when the run has failed. */
    bool (*next)(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out);
    const char *type;      /* its name in Python: "generator", "list_reverseiterator" */
    struct jinja_value of; /* the value that it iterates over */
    int64_t index;
    size_t at; /* byte of a text */
    bool is_done, is_reversed;
    struct jinja_iter *source; /* of a generator that has begun; else NULL */
    void *state;               /* of a generator */
};
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
