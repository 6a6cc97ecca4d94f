/* Threads that walk a program, with their stacks.
 *
 * The stacks of all threads are one graph (a graph-structured stack, Tomita 1986): threads that
 * call the same rule at the same place share a frame, which links to all of its callers. So an
 * ambiguous grammar takes memory by the length of the text, not by the number of its readings.
 *
 * Frames and links are only added, and a frame stays as it is once the byte is done. So a walk over
 * possible texts goes back by cutting the tables (automaton_cut). */
#pragma once
#include "grammar/threads.h"

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
