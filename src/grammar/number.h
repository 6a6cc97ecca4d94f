/* JSON numbers within bounds, as automata over their digits.
 *
 * A bounded number has no exponent. An integer may end in .0 where the dialect says that 1.0 is
 * one. */
#pragma once
#include "grammar/dfa.h"

enum { NUMBER_DIGITS_MAX = 340 };
struct number_bound {
    bool is_there, is_exclusive;
    double value;
};
struct number_options {
    struct number_bound low, high;
    bool is_integer;      /* no fraction, */
    bool allows_zero;     /* except .0 */
    uint32_t divisor;     /* of integers; 0 or 1: none */
    int32_t n_digits_max; /* of the fraction; -1: any */
};
/* Returns NULL when there would be too many states. */
struct dfa *number_dfa(struct pile *pile, const struct number_options *options);
/* Writes the shortest text that means the value, as Python does. */
void number_print(double value, char text[40]);
