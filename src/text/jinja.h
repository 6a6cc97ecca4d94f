/* The Jinja subset of chat templates: nodes, values, and a run with its bounds.
 *
 * Semantics are those of Python's jinja2 as transformers sets it up: trim_blocks, lstrip_blocks,
 * loop controls, an immutable sandbox. Everything a template makes lives in the run's pile. Errors
 * stick: after jinja_fail every function returns quickly with something harmless. */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "base/str.h"

enum {
    JINJA_SOURCE_BYTES_MAX = 1 << 18,
    JINJA_NODES_MAX = 1 << 16,
    JINJA_TREE_DEPTH_MAX = 200,
    JINJA_RUN_DEPTH_MAX = 500, /* nested evaluation, through macros too */
    JINJA_STEPS_MAX = 8 << 20, /* nodes evaluated, and 64 bytes looked at count as one */
    JINJA_PILE_BYTES_MAX = 128 << 20,
    JINJA_OUTPUT_BYTES_MAX = 32 << 20,
    JINJA_RANGE_MAX = 100000,
    JINJA_ARGS_MAX = 16,
};

enum jinja_kind {
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_FLOAT,
    JINJA_STRING,
    JINJA_LIST,
    JINJA_TUPLE,
    JINJA_DICT,
    JINJA_NAMESPACE,
    JINJA_LOOP,
    JINJA_MACRO,
    JINJA_METHOD,   /* a method bound to *self */
    JINJA_FUNCTION, /* a global function, by name */
};

struct jinja_value {
    enum jinja_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct view string; /* UNDEFINED: the name; FUNCTION: its name */
        struct jinja_list *list;
        struct jinja_dict *dict; /* DICT, NAMESPACE */
        struct jinja_loop *loop;
        const struct jinja_node *macro;
        struct jinja_method *method;
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
struct jinja_method {
    struct jinja_value self;
    struct view name;
};
struct jinja_loop {
    struct jinja_list *items;
    int64_t index; /* from 0 */
    int depth;
    struct jinja_value last_changed;
    bool has_changed;
};

enum jinja_node_kind {
    /* expressions */
    JINJA_NODE_LITERAL,
    JINJA_NODE_NAME,    /* text */
    JINJA_NODE_LIST,    /* a: items */
    JINJA_NODE_TUPLE,   /* a: items */
    JINJA_NODE_DICT,    /* a: key, value, key, value ... */
    JINJA_NODE_ATTR,    /* a.text */
    JINJA_NODE_ITEM,    /* a[b] */
    JINJA_NODE_SLICE,   /* a[b:c:d] */
    JINJA_NODE_CALL,    /* a(b ...) */
    JINJA_NODE_KEYWORD, /* text=a, among arguments */
    JINJA_NODE_FILTER,  /* a|text(b ...); a NULL: of a filter block */
    JINJA_NODE_TEST,    /* a is text(b ...) */
    JINJA_NODE_UNARY,   /* op a */
    JINJA_NODE_BINARY,  /* a op b */
    JINJA_NODE_COMPARE, /* a, then b: a chain of OPERAND */
    JINJA_NODE_OPERAND, /* op a */
    JINJA_NODE_AND,
    JINJA_NODE_OR,
    JINJA_NODE_NOT,
    JINJA_NODE_COND, /* b if a else c */
    /* statements */
    JINJA_NODE_TEXT,     /* text */
    JINJA_NODE_PRINT,    /* a */
    JINJA_NODE_IF,       /* a: condition, b: body, c: else body */
    JINJA_NODE_FOR,      /* a: target, b: iterable, c: body, d: else body, e: condition */
    JINJA_NODE_SET,      /* a: target, b: value */
    JINJA_NODE_CAPTURE,  /* set block; a: target, b: body, c: filter chain or NULL */
    JINJA_NODE_MACRO,    /* text(a: parameters), b: body; a parameter: NAME, a: default */
    JINJA_NODE_FILTERED, /* filter block; b: body, c: filter chain */
    JINJA_NODE_WITH,     /* a: SETs, b: body */
    JINJA_NODE_BODY,     /* b: body (generation) */
    JINJA_NODE_BREAK,
    JINJA_NODE_CONTINUE,
};
enum jinja_op {
    JINJA_ADD,
    JINJA_SUB,
    JINJA_MUL,
    JINJA_DIV,
    JINJA_FLOOR_DIV,
    JINJA_MOD,
    JINJA_POW,
    JINJA_CONCAT,
    JINJA_EQ,
    JINJA_NE,
    JINJA_LT,
    JINJA_LE,
    JINJA_GT,
    JINJA_GE,
    JINJA_IN,
    JINJA_NOT_IN,
};
struct jinja_node {
    enum jinja_node_kind kind;
    enum jinja_op op;
    bool is_negated; /* TEST: is not */
    int16_t depth;   /* of the tree below */
    int32_t line;
    struct view text;
    struct jinja_value literal;
    struct jinja_node *a, *b, *c, *d, *e;
    struct jinja_node *next; /* in a list */
};

struct jinja_binding {
    struct view name;
    struct jinja_value value;
};
enum jinja_flow { JINJA_FLOW_ON, JINJA_FLOW_BREAK, JINJA_FLOW_CONTINUE };
struct jinja_run {
    struct pile pile;
    struct str *out;
    int64_t steps;
    int32_t line;
    int depth;
    enum jinja_flow flow;
    enum status status; /* not STATUS_OK: failed, everything unwinds */
    struct fault fault;
    struct jinja_binding *stack; /* globals, then what the current frame sees from frame on */
    int64_t n_stack, stack_capacity, frame, n_globals, scope; /* scope: the innermost begins */
};
/* Notes the first failure; says "chat template, line N: ...". */
void jinja_fail(struct jinja_run *run, enum status status, const char *fmt, ...) PRINTF_LIKE(3, 4);
static inline bool jinja_failed(const struct jinja_run *run)
{
    return run->status != STATUS_OK;
}
/* Counts work of n steps against the bound; false when the run has failed. */
bool jinja_charge(struct jinja_run *run, int64_t n);
void *jinja_take(struct jinja_run *run, size_t n_bytes); /* NULL: over the bound, run failed */
