/* A compiled grammar: rules of nodes, over automata.
 *
 * A rule's nodes are a graph. A thread walks it byte by byte, and a call of a rule puts the place
 * behind it on a stack. A thread has a few words of its own in each rule that it is in: a count,
 * and a set of bits. So repetitions, and properties in any order, take one node each.
 *
 *   BYTE     takes one byte                     RAW     takes a text of an automaton, as UTF-8
 *   SPLIT    goes on at next or at other        TEXT    takes a JSON string behind its opening
 *   CALL     runs a rule, then goes on                  quote, up to its closing quote
 *   RETURN   goes back to the callers           REPEAT  calls a rule min to max times
 *   OBJECT_FIRST KEY COLON VALUE NEXT MORE      an object behind its { : six nodes in this order
 *   ARRAY_FIRST NEXT MORE                       an array behind its [ : three nodes
 *   FREE     takes any bytes up to a trigger, or ends
 *   DONE     the text is complete
 *
 * White space in JSON: behind { [ , : and in front of } ] there may be one space, or a line feed
 * and up to PROGRAM_INDENT_MAX spaces or tabs. */
#pragma once
#include "grammar/dfa.h"

enum {
    PROGRAM_INDENT_MAX = 64,
    PROGRAM_NODES_MAX = 1 << 20,
    PROGRAM_BYTES_MAX = DFA_PILE_MAX, /* that compiling may take */
    PROGRAM_TRACKED_MAX = 128,        /* properties whose repetition is excluded */
    PROGRAM_DEPTH_MAX = 1024,         /* calls inside each other */
    PROGRAM_THREADS_MAX = 2048,       /* of one state */
    PROGRAM_NONE = -1,
};
#define PROGRAM_MANY UINT32_MAX

enum program_op {
    OP_DEAD,
    OP_BYTE,
    OP_RAW,
    OP_TEXT,
    OP_SPLIT,
    OP_CALL,
    OP_RETURN,
    OP_REPEAT,
    OP_OBJECT_FIRST,
    OP_OBJECT_KEY,
    OP_OBJECT_COLON,
    OP_OBJECT_VALUE,
    OP_OBJECT_NEXT,
    OP_OBJECT_MORE,
    OP_ARRAY_FIRST,
    OP_ARRAY_NEXT,
    OP_ARRAY_MORE,
    OP_FREE,
    OP_DONE,
};
struct program_node {
    uint8_t op;
    uint8_t byte;    /* BYTE */
    uint16_t height; /* the deepest calls that a completion from here needs, at least */
    uint32_t next;
    uint32_t x; /* SPLIT: other; CALL: rule; else an index in the table of its kind */
};
struct program_text { /* TEXT */
    const struct dfa *dfa;
    uint32_t min, max; /* code points; max PROGRAM_MANY: no bound */
};
struct program_repeat {
    uint32_t rule, min, max;
};
struct program_needs { /* a property that needs others */
    uint32_t tag;
    uint64_t others[2];
};
/* A key's tag is the index of its rule. Tags below n_tracked are properties, whose bits tell that
 * they were seen. */
struct program_object {
    struct dfa *keys;
    uint32_t n_tags, n_tracked;
    uint32_t *rules; /* (n_tags) of the values */
    uint32_t height; /* the largest of these rules */
    uint64_t required[2];
    uint32_t min, max; /* properties */
    uint32_t n_needs;
    const struct program_needs *needs;
    bool counts_others;     /* min counts untracked keys, by their hashes in bits[1] */
    uint64_t (*reach)[2];   /* (keys->n_states) tracked tags that may still come */
    uint8_t *reaches_other; /* (keys->n_states) an untracked tag may come */
    uint8_t *is_any;        /* (keys->n_states) all texts lead on to untracked tags */
};
struct program_array {
    uint32_t n_first;
    uint32_t *firsts; /* (n_first) rules of the first items */
    uint32_t rest;    /* of all later ones; PROGRAM_MANY: there are none */
    uint32_t min, max;
};
struct program_free {
    struct view trigger;
    const uint32_t *borders; /* (trigger.n) of each prefix: its longest proper border (KMP) */
    uint32_t end;            /* the node RETURN: free text may end anywhere */
};
struct program {
    struct pile pile;
    uint64_t hash; /* of kind and text */
    uint32_t done; /* the node DONE */
    uint32_t n_nodes, n_rules;
    struct program_node *nodes;
    uint32_t *rules;   /* (n_rules) first node; rule 0 is the root */
    uint16_t *heights; /* (n_rules) */
    uint32_t n_dfas, n_texts, n_repeats, n_objects, n_arrays, n_frees;
    struct dfa **dfas; /* RAW */
    struct program_text *texts;
    struct program_repeat *repeats;
    struct program_object *objects;
    struct program_array *arrays;
    struct program_free *frees;
};
