/* Compares links with those of a word of nvidia-smi. */
#pragma once
#include "../test.h"
#include "scenario/links_here.h"

static void assert_link(const struct links *links, int32_t from, int32_t to, const char *word)
{
    struct links_link wanted, *link = &links->at[from * links->n + to];
    assert_true(links_word(word, &wanted));
    if (link->latency_ns != wanted.latency_ns || link->bytes_per_s != wanted.bytes_per_s)
        fail_msg("%d to %d: %lld ns, %g B/s where %s was expected", from, to,
                 (long long)link->latency_ns, link->bytes_per_s, word);
}
