/* A set of texts that finds its members that begin another text. */
#pragma once
#include "base/str.h"

struct text_prefixes {
    int32_t n;
    struct view *texts;  /* (n) sorted by bytes, no two equal; their bytes are the caller's */
    int32_t *ids;        /* (n) */
    int32_t starts[257]; /* texts[starts[b]..starts[b + 1]-1] begin with byte b */
};
/* Takes those of the n texts that are not empty. Among equal ones the first stays, or with
 * keeps_last the last. The caller closes it by text_prefixes_close. */
void text_prefixes_open(struct text_prefixes *set, const struct view *texts, const int32_t *ids,
                        int32_t n, bool keeps_last);
void text_prefixes_close(struct text_prefixes *set);

/* A walk over the texts of the set that begin a text. The shortest comes first. */
struct text_prefixes_walk {
    const struct text_prefixes *set;
    struct view text;
    size_t depth; /* private below */
    int32_t low, high;
};
void text_prefixes_begin(struct text_prefixes_walk *walk, const struct text_prefixes *set,
                         struct view text);
/* Returns the next one's index in the set; -1 when there is none. */
int32_t text_prefixes_next(struct text_prefixes_walk *walk);
/* Returns the longest one's index; -1 when there is none. */
int32_t text_prefixes_longest(const struct text_prefixes *set, struct view text);
