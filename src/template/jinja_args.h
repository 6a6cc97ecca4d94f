/* The arguments of calls, filters and tests, and Python's rules for binding them to parameters. */
#pragma once
#include "template/jinja_value.h"

struct jinja_named {
    struct view name;
    struct jinja_value value;
};
struct jinja_args {
    const struct jinja_value *at;
    int64_t n;
    const struct jinja_named *named;
    int64_t n_named;
};
/* Returns the argument of this name, NULL when it is not given. */
const struct jinja_value *jinja_args_named(const struct jinja_args *args, const char *name);

enum { JINJA_PARAMETERS_MAX = 5 };
/* Binds arguments to parameters such as "width? first? blank?". A "?" ends an optional one, a "-"
 * begins one that takes no keyword. out[i] is NULL when it was not given. Returns false, with the
 * run failed, when the arguments do not fit. */
bool jinja_args_bind(struct jinja_run *run, const struct jinja_args *args, const char *parameters,
                     const struct jinja_value *out[JINJA_PARAMETERS_MAX]);
/* Returns one argument as an int. The run fails when it has another type. */
int64_t jinja_args_int(struct jinja_run *run, const struct jinja_value *arg, int64_t fallback);
struct view jinja_args_text(struct jinja_run *run, const struct jinja_value *arg,
                            struct view fallback); /* also for none */
static inline bool jinja_args_flag(const struct jinja_value *arg)
{
    return arg != NULL && jinja_value_truth(*arg);
}
/* Returns the arguments behind the first n. */
struct jinja_args jinja_args_rest(const struct jinja_args *args, int64_t n);

/* A method or filter. given has the bound arguments; args has all of them, for a callee that binds
 * none. */
typedef struct jinja_value jinja_callee(struct jinja_run *run, struct jinja_value self,
                                        const struct jinja_value *const *given,
                                        const struct jinja_args *args, int variant);
