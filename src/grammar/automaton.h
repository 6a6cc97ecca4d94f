/* Threads that walk a program, with their stacks.
 *
 * The stacks of all threads are one graph (a graph-structured stack, Tomita 1986): threads that
 * call the same rule at the same place share a frame, which links to all of its callers. So an
 * ambiguous grammar takes memory by the length of the text, not by the number of its readings.
 *
 * Frames and links are only added, and a frame stays as it is once the byte is done. So a walk over
 * possible texts goes back by cutting the tables (automaton_cut). */
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
struct automaton_link { /* a caller */
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

void automaton_open(struct automaton *automaton);
void automaton_close(struct automaton *automaton);
/* Begins a text: threads [0, n_threads) wait for its first byte. */
void automaton_begin(struct automaton *automaton, const struct program *program);
/* Appends the threads that threads [from, to) become with this byte. Returns how many. */
uint32_t automaton_step(struct automaton *automaton, uint32_t from, uint32_t to, uint8_t byte);
struct automaton_mark automaton_at(const struct automaton *automaton);
void automaton_cut(struct automaton *automaton, struct automaton_mark mark);
/* Keeps threads [from, n_threads) and their frames alone, as the first ones of `into`. */
void automaton_move(const struct automaton *automaton, uint32_t from, struct automaton *into);
/* Returns a hash of all that decides how a thread goes on. */
uint64_t automaton_hash(const struct automaton *automaton, const struct automaton_thread *thread);
bool automaton_is_done(const struct automaton *automaton, uint32_t from, uint32_t to);
