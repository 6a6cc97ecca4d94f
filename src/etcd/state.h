/* The state of a client of etcd, shared by etcd.c (the store's face), transfers.c (calls, on the
 * client's thread) and stream.c (the watch, on the same thread). Private to this room. */
#pragma once
#include "base/wake.h"
#include "etcd/answer.h"
#include <curl/curl.h>
#include <stdatomic.h>

enum { ETCD_ENDPOINTS_MAX = 16, ETCD_REPLY_BYTES_MAX = 32 << 20 };

/* A call, from its begin to its end. */
struct etcd_job {
    struct etcd_job *next;
    struct store_call *call; /* NULL: forgotten, or a list of the watch; under the lock */
    enum store_call_kind kind;
    const char *path;
    struct str body;
    int64_t timeout_ns, deadline_ns;
    int64_t again_ns; /* it waits for this time, while it is at no endpoint */
    bool is_of_watch, was_sent;
    CURL *easy; /* NULL: at no endpoint */
    struct curl_slist *headers;
    struct str reply;
    int endpoint, n_tries;
    struct etcd_answer answer;
};
struct etcd_news {
    struct etcd_news *next;
    enum store_news_kind kind;
    struct etcd_job *job;        /* of a call */
    struct store_entry *entries; /* owned, unless they are the job's */
    int n_entries;
    int64_t revision;
};
enum etcd_watch_state {
    ETCD_WATCH_NONE,
    ETCD_WATCH_LISTING, /* no stream is open, and a list is on its way or due */
    ETCD_WATCH_OPEN,    /* a stream is open */
};
struct etcd_watch {
    char prefix[STORE_KEY_BYTES];
    enum etcd_watch_state state;
    bool is_silent; /* news said so */
    bool is_list_under_way;
    int64_t list_ns;       /* when to list at the latest */
    uint64_t listed;       /* hash of the entries that were listed last; 0: they have changed */
    int64_t seen_revision; /* of the list or the last event: events up to it are known */
    struct etcd_head seen; /* the highest that a linearizable list showed */
    CURL *easy;            /* the stream */
    struct curl_slist *headers;
    struct str body, text; /* text: what came and is no whole line yet */
    int endpoint;
    bool is_over; /* the stream is to be closed */
};
struct etcd_client {
    struct store face;
    char *endpoints[ETCD_ENDPOINTS_MAX];
    int n_endpoints;
    char *cert, *key, *ca;
    int64_t silence_ns;
    struct lock *lock; /* of the next five */
    struct etcd_job *inbox, **inbox_end;
    struct etcd_news *outbox, **outbox_end;
    char wanted_prefix[STORE_KEY_BYTES]; /* "": no watch was asked for, or it is there */
    struct etcd_news *shown;             /* the caller's: freed at its next poll */
    struct wake wake;
    struct thread *thread;
    _Atomic bool is_ending;
    CURLM *multi;
    struct etcd_job *jobs; /* under way; the thread's */
    int endpoint;          /* that answered last */
    struct etcd_watch watch;
};

/* ---- transfers.c ---- */

/* Opens a POST to an endpoint. */
CURL *etcd_transfers_open(const struct etcd_client *client, int endpoint, const char *path,
                          const struct str *body, struct curl_slist **headers);
/* Starts a job at the next endpoint. */
void etcd_transfers_start(struct etcd_client *client, struct etcd_job *job);
void etcd_transfers_free_job(struct etcd_job *job);
void etcd_transfers_say(struct etcd_client *client, struct etcd_news *news);
/* The client's thread. */
void etcd_transfers_run(void *client);

/* ---- stream.c ---- */

void etcd_stream_begin(struct etcd_client *client, const char *prefix);
/* Takes the end of the watch's list, and of its stream. */
void etcd_stream_listed(struct etcd_client *client, struct etcd_job *job);
void etcd_stream_ended(struct etcd_client *client);
/* Returns when it wants to be called again. */
int64_t etcd_stream_step(struct etcd_client *client, int64_t now_ns);
void etcd_stream_close(struct etcd_client *client);
