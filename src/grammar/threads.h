/* The records of an automaton: its threads, and the graph of their stacks. automaton.h says how
 * they work together. */
#pragma once
#include "grammar/program.h"

struct automaton_thread {
    uint32_t pc, frame;
    uint32_t a;    /* state of an automaton; a key's tag */
    uint32_t b;    /* an unfinished character or escape; white space so far */
    uint32_t n;    /* a count: properties, items, code points, repetitions */
    uint32_t hash; /* of a key so far, if its object counts keys by hash */
    uint64_t bits[2];
};
struct automaton_link {          /* a caller */
    uint32_t pc, frame, n, next; /* next link of the frame, + 1 */
    uint64_t bits[2];
};
struct automaton_frame {
    uint64_t hash;  /* of its content; 0: links may still be added */
    uint32_t links; /* the first, + 1 */
    uint32_t depth;
};
struct automaton_call { /* a frame of this byte */
    uint32_t rule, frame;
    bool has_returned;
};
struct automaton {
    const struct program *program;
    struct automaton_thread *threads;
    bool *is_kept;
    struct automaton_frame *frames;
    struct automaton_link *links;
    struct automaton_call *calls;
    uint32_t n_threads, n_threads_max, n_frames, n_frames_max, n_links, n_links_max, n_calls,
        n_calls_max;
    bool is_full; /* a limit was reached, so some text was not followed */
};
struct automaton_mark {
    uint32_t n_threads, n_frames, n_links;
};
