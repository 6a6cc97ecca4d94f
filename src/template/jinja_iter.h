/* Iteration: what Python's iter() and next() do for each kind of value. */
#pragma once
#include "template/jinja.h"

struct jinja_node;

struct jinja_iter {
    /* The next item; false at the end or when the run has failed. */
    bool (*next)(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out);
    const char *type;      /* Python's name of it: "generator", "list_reverseiterator" */
    struct jinja_value of; /* what it goes over */
    int64_t index;
    size_t at; /* byte of a text */
    bool is_done, is_reversed;
    struct jinja_iter *source; /* of a generator that has begun; NULL before */
    void *state;               /* of a generator */
};
/* NULL, with the run failed, for what Python can't iterate over. An iterator is its own. */
struct jinja_iter *jinja_iter_open(struct jinja_run *run, struct jinja_value v);
bool jinja_iter_can_open(struct jinja_value v);
/* Python's reversed(); NULL without a failure for what has none. */
struct jinja_iter *jinja_iter_open_reversed(struct jinja_run *run, struct jinja_value v);
bool jinja_iter_next(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out);
/* A generator with this next function. */
struct jinja_value jinja_iter_generator(struct jinja_run *run, struct jinja_value of, void *state,
                                        bool (*next)(struct jinja_run *run, struct jinja_iter *iter,
                                                     struct jinja_value *out));
/* The item of a generator's source, which is opened first. */
bool jinja_iter_source(struct jinja_run *run, struct jinja_iter *iter, struct jinja_value *out);
/* list(v): a LIST of what is left. */
struct jinja_value jinja_iter_list(struct jinja_run *run, struct jinja_value v);

/* LoopContext: NULL, with the run failed, when it can't go over the items. */
struct jinja_loop *jinja_iter_loop(struct jinja_run *run, struct jinja_value items);
bool jinja_iter_loop_next(struct jinja_run *run, struct jinja_loop *loop, struct jinja_value *out);
bool jinja_iter_loop_peek(struct jinja_run *run, struct jinja_loop *loop); /* into loop->after */
int64_t jinja_iter_loop_length(struct jinja_run *run, struct jinja_loop *loop);
