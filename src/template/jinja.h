/* Jinja as chat templates use it: nodes, values, and a run with its bounds.
 *
 * The semantics are those of Python's jinja2 3.1 as transformers configures it: trim_blocks,
 * lstrip_blocks, loop controls, the generation tag, an immutable sandbox. A template renders as in
 * Python, or fails as in Python (STATUS_BAD_INPUT), or is refused by name (STATUS_UNSUPPORTED), or
 * exceeds a bound (STATUS_TOO_LARGE). All values that a run makes live in its pile. Errors stick:
 * after jinja_fail every function returns quickly with a harmless value. */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "base/str.h"

enum {
    JINJA_SOURCE_BYTES_MAX = 1 << 18,
    JINJA_NODES_MAX = 1 << 16,
    JINJA_TREE_DEPTH_MAX = 200, /* of expressions */
    JINJA_BLOCK_DEPTH_MAX = 64, /* of statements; Python's own parser stops near 100 */
    JINJA_LOOP_DEPTH_MAX = 20,  /* of loops in one function; Python's limit */
    JINJA_RUN_DEPTH_MAX = 400,  /* nested evaluation, through macros and iterators too */
    JINJA_STEPS_MAX = 4 << 20,  /* nodes evaluated; 64 bytes read count as one */
    JINJA_PILE_BYTES_MAX = 64 << 20,
    JINJA_OUTPUT_BYTES_MAX = 16 << 20,
    JINJA_RANGE_MAX = 100000, /* items, as in jinja2's sandbox */
    JINJA_ARGS_MAX = 256,
    JINJA_WIDTH_MAX = 1 << 16, /* of a padded field, in letters */
    JINJA_PRECISION_MAX = 1 << 10,
};

enum jinja_kind {
    JINJA_MISSING, /* a slot without a value; no expression has this kind */
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_FLOAT,
    JINJA_STRING,
    JINJA_LIST,
    JINJA_TUPLE,
    JINJA_DICT,
    JINJA_VIEW, /* result of keys(), values() or items() of a dict */
    JINJA_RANGE,
    JINJA_ITERATOR, /* a generator or another iterator, which can be used once */
    JINJA_NAMESPACE,
    JINJA_LOOP,
    JINJA_MACRO,
    JINJA_METHOD,   /* a method bound to *self */
    JINJA_FUNCTION, /* a global function */
    JINJA_CYCLER,
    JINJA_JOINER,
};
enum jinja_mark {
    JINJA_PLAIN,
    JINJA_MARKUP, /* a STRING of markupsafe's class Markup */
    JINJA_GROUP,  /* a TUPLE of groupby, with the names grouper and list */
    JINJA_KEYS,   /* a VIEW */
    JINJA_VALUES,
    JINJA_ITEMS,
};

struct jinja_value {
    enum jinja_kind kind;
    enum jinja_mark mark;
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct view string; /* UNDEFINED: the name */
        struct jinja_list *list;
        struct jinja_dict *dict; /* DICT, VIEW, NAMESPACE */
        struct jinja_range *range;
        struct jinja_iter *iter;
        struct jinja_loop *loop;
        struct jinja_macro *macro;
        struct jinja_method *method;
        const struct jinja_function *function;
        struct jinja_cycler *cycler; /* CYCLER, JOINER */
    };
};
struct jinja_list {
    struct jinja_value *at;
    int64_t n, capacity;
};
struct jinja_pair {
    struct jinja_value key, value;
};
struct jinja_dict { /* in order of insertion */
    struct jinja_pair *at;
    int64_t n, capacity;
};
struct jinja_range {
    int64_t start, stop, step, n;
};
struct jinja_cycler { /* of a JOINER: position 0 or 1, items[0] the separator */
    struct jinja_list *items;
    int64_t position;
};
/* The variables of one call of a function of the template. Such functions are the template itself,
 * a macro, a call block, a loop's condition, and the body of a recursive loop. parent is the call
 * in which the function was defined, as with Python's closures. */
struct jinja_frame {
    struct jinja_frame *parent;
    struct jinja_value slots[];
};
struct jinja_macro {
    const struct jinja_node *node; /* MACRO, CALL_BLOCK or GENERATION */
    struct jinja_frame *frame;     /* the frame in which it was defined */
};
struct jinja_run;
struct jinja_iter { /* what Python's iter() returns */
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
struct jinja_loop { /* jinja2's LoopContext */
    struct jinja_value iterable;
    struct jinja_iter *iter;
    struct jinja_value after, current, before; /* MISSING: none */
    struct jinja_value changed;                /* the last arguments of changed(), a TUPLE */
    int64_t index0, length, depth0;            /* index0 -1: not begun; length -1: unknown */
    const struct jinja_node *recursion;        /* NULL: not a recursive loop */
    struct jinja_frame *frame;
};

enum jinja_flow { JINJA_FLOW_ON, JINJA_FLOW_BREAK, JINJA_FLOW_CONTINUE };
struct jinja_run {
    struct pile pile;
    struct str *out;
    int64_t steps, steps_max;
    int32_t line;
    int depth;
    enum jinja_flow flow;
    enum status status; /* not STATUS_OK: the run has failed and unwinds */
    struct fault fault;
    struct jinja_frame *frame;        /* of the function that is running */
    const struct jinja_dict *context; /* passed by the template's caller, by name */
    struct jinja_value captured;      /* text of the filter or set block around the filters */
    const char *time;                 /* time for strftime_now; NULL: the local time */
};
/* Notes the first failure as "chat template, line N: ...". */
void jinja_fail(struct jinja_run *run, enum status status, const char *fmt, ...) PRINTF_LIKE(3, 4);
static inline bool jinja_failed(const struct jinja_run *run)
{
    return run->status != STATUS_OK;
}
/* Counts work of n steps against the bound. Returns false when the run has failed. */
bool jinja_charge(struct jinja_run *run, int64_t n);
/* Enters one more level, which the caller leaves by run->depth--. Returns false, with the run
 * failed, when it is too deep. */
bool jinja_enter(struct jinja_run *run);
void *jinja_take(struct jinja_run *run, size_t n_bytes); /* NULL: over the bound; run failed */
/* Doubles a table of n items when it is full. Returns false when that exceeds the bound; then the
 * run has failed. */
bool jinja_grow(struct jinja_run *run, void **table, int64_t n, int64_t *capacity,
                size_t item_bytes);
/* Fails when a text that is being written exceeds JINJA_OUTPUT_BYTES_MAX; false when failed. */
bool jinja_fits(struct jinja_run *run, const struct str *text);
