/* One answer as the client sees it: pieces of text and their times in, the verdict out.
 *
 * Right is: status 200, whole events, no error event, one finish_reason, [DONE] as the last event,
 * and as many tokens as were asked for. The first thing that is not makes the verdict. Tokens may
 * have no text (models with random weights draw such): an answer without any is right where the
 * server counted its tokens, and its first token is seen when it ends. */
#pragma once
#include "base/hist.h"
#include "loadgen/sse.h"
#include "metrics/record.h"

enum { LOADGEN_SENTENCE_BYTES = 200 };
struct loadgen_answer {
    struct loadgen_sse sse;
    struct hist *gaps;                     /* all waits between two pieces, ns; NULL: not wanted */
    struct str body;                       /* of an answer that is no stream: an error's JSON */
    int64_t now_ns;                        /* set before feeding */
    int64_t first_ns, last_ns, gap_ns_max; /* of pieces */
    int64_t finished_ns;                   /* when the finish_reason came */
    int32_t n_pieces;                      /* of text that is not empty */
    int32_t n_tokens, n_prompt_tokens, n_cached; /* of the usage; -1: it told none */
    uint64_t text_hash;                          /* of all the text */
    bool is_done;                                /* [DONE] came */
    char finish[16];                             /* finish_reason; "" until it comes */
    char wrong[LOADGEN_SENTENCE_BYTES];          /* the first thing that was */
};
void loadgen_answer_init(struct loadgen_answer *answer);
void loadgen_answer_free(struct loadgen_answer *answer);
/* Bytes of the body. is_stream: by its status and content type. */
void loadgen_answer_feed(struct loadgen_answer *answer, bool is_stream, const char *bytes,
                         size_t n);

struct loadgen_end {       /* how the transfer ended */
    long http_status;      /* 0 = none came */
    const char *transport; /* NULL, or what the connection died of */
    int32_t n_wanted;      /* tokens that were asked for */
    bool may_stop_early;   /* the end token was not to be ignored */
    bool ends_by_stop;     /* its last token was to be a stop token */
};
/* Fills what the record says of the answer: why, http_status, n_output, n_cached, first_ns,
 * gap_ns_max. answer->wrong has the sentence when it is not right. */
void loadgen_answer_judge(struct loadgen_answer *answer, const struct loadgen_end *end,
                          struct record *record);
