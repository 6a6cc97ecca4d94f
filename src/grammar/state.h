/* The state of one text: an automaton's threads, and room for the next ones. */
#pragma once
#include "grammar/automaton.h"
#include "grammar/grammar.h"

struct grammar {
    struct program program;
    int32_t n_users; /* of a cache: under its lock */
    bool is_kept;
};
struct grammar_state {
    struct automaton now, spare; /* now: threads [0, n_threads) are the state's */
};
