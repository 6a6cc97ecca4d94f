/* Reads etcd's answers: the reply of a call, and the lines of a watch.
 *
 * The gateway leaves zero values out of its JSON, writes 64-bit numbers as text, and wraps the
 * replies of streams in "result". Entries that are read lie in one block with their keys and
 * values. */
#pragma once
#include "store/store.h"

struct etcd_head { /* of a reply; 0: it has none */
    int64_t revision, term;
    uint64_t cluster;
};
struct etcd_answer {
    enum store_end end;
    struct etcd_head head;
    bool is_made, has_lease;
    int64_t ttl_s;
    int n_entries;
    struct store_entry *entries; /* mem_give frees it; NULL: none */
    struct fault fault;
};
/* http_status: of the reply, whose body is the text. */
void etcd_answer_read(enum store_call_kind kind, long http_status, struct view text,
                      struct etcd_answer *out);

struct etcd_line { /* of a watch */
    bool is_created, is_over;
    struct etcd_head head;
    int n_events;
    struct store_entry *entries; /* (n_events) mem_give frees it; NULL: none */
    bool *are_deleted;           /* (n_events) in the same block */
    struct fault fault;          /* why it is over */
};
void etcd_answer_read_line(struct view text, struct etcd_line *out);
