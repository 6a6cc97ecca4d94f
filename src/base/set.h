/* A set of small numbers, 0 to SET_MAX - 1: services, or engines. It is a plain value of one bit
 * each, to be copied and kept in other structs; {0} is empty.
 *
 * A caller that queries a set often passes how many numbers there are (n). Words that can have no
 * member are then not read, so a set of up to 64 costs what one word costs. Code that keeps many
 * sets stores only the first set_n_words(n) words of each (set_words_*). */
#pragma once
#include "base/base.h"

enum { SET_MAX = 1024, SET_WORDS = SET_MAX / 64 };
struct set {
    uint64_t words[SET_WORDS];
};

static inline int set_n_words(int n)
{
    return (n + 63) / 64;
}
static inline bool set_words_have(const uint64_t *words, int i)
{
    return words[i / 64] >> (i % 64) & 1;
}
static inline void set_words_add(uint64_t *words, int i)
{
    words[i / 64] |= UINT64_C(1) << (i % 64);
}
/* Returns the first member from `from` to n - 1; -1 if none. */
static inline int set_words_next(const uint64_t *words, int from, int n)
{
    for (int w = from / 64; w < set_n_words(n); w++, from = w * 64) {
        uint64_t left = words[w] >> (from % 64);
        if (left != 0)
            return from + __builtin_ctzll(left) < n ? from + __builtin_ctzll(left) : -1;
    }
    return -1;
}
static inline bool set_has(const struct set *set, int i)
{
    return set_words_have(set->words, i);
}
static inline void set_add(struct set *set, int i)
{
    set_words_add(set->words, i);
}
static inline void set_remove(struct set *set, int i)
{
    set->words[i / 64] &= ~(UINT64_C(1) << (i % 64));
}
/* Returns the set of 0 to n - 1. */
static inline struct set set_of_first(int n)
{
    struct set set = { { 0 } };
    for (int i = 0; i < n; i++)
        set_add(&set, i);
    return set;
}
static inline int set_next(const struct set *set, int from, int n)
{
    return set_words_next(set->words, from, n);
}
static inline int set_count(const struct set *set)
{
    int n = 0;
    for (int w = 0; w < SET_WORDS; w++)
        n += __builtin_popcountll(set->words[w]);
    return n;
}
static inline bool set_is_empty(const struct set *set)
{
    return set_next(set, 0, SET_MAX) < 0;
}
/* Returns whether every member of `part` is one of `all`. */
static inline bool set_covers(const struct set *all, const struct set *part)
{
    uint64_t missing = 0;
    for (int w = 0; w < SET_WORDS; w++)
        missing |= part->words[w] & ~all->words[w];
    return missing == 0;
}
static inline bool set_equals(const struct set *a, const struct set *b)
{
    return set_covers(a, b) && set_covers(b, a);
}
/* Have they a member below n in common? */
static inline bool set_meets(const struct set *a, const struct set *b, int n)
{
    uint64_t common = 0;
    for (int w = 0; w < set_n_words(n); w++)
        common |= a->words[w] & b->words[w];
    return common != 0;
}
static inline void set_add_all(struct set *set, const struct set *more)
{
    for (int w = 0; w < SET_WORDS; w++)
        set->words[w] |= more->words[w];
}
/* Those of a that are not in b. */
static inline struct set set_without(const struct set *a, const struct set *b)
{
    struct set set;
    for (int w = 0; w < SET_WORDS; w++)
        set.words[w] = a->words[w] & ~b->words[w];
    return set;
}
