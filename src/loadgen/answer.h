/* One answer as the client sees it: it takes pieces of text with their times, and gives the
 * verdict.
 *
 * An answer is right with status 200, whole events, no error event, one finish_reason, [DONE] as
 * the last event, and the requested number of tokens. The first violation makes the verdict. Tokens
 * may have no text (models with random weights draw such). An answer without text is right if the
 * server counted its tokens, and its first token then counts at its end. */
#pragma once
#include "base/hist.h"
#include "loadgen/sse.h"
#include "metrics/record.h"

enum { LOADGEN_SENTENCE_BYTES = 200 };
struct loadgen_answer {
    struct loadgen_sse sse;
    struct hist *gaps; /* all waits between two pieces, ns; NULL: not collected */
    struct str body;   /* of an answer that is not a stream: an error's JSON */
    int64_t now_ns;    /* set before feeding */
    int64_t first_ns, last_ns, gap_ns_max;       /* of pieces */
    int64_t finished_ns;                         /* when the finish_reason came */
    int32_t n_pieces;                            /* of text that is not empty */
    int32_t n_tokens, n_prompt_tokens, n_cached; /* from the usage; -1: it was absent */
    uint64_t text_hash;                          /* of all the text */
    bool is_done;                                /* [DONE] came */
    char finish[16];                             /* finish_reason; "" until it comes */
    char wrong[LOADGEN_SENTENCE_BYTES];          /* the first thing that was */
};
void loadgen_answer_init(struct loadgen_answer *answer);
void loadgen_answer_free(struct loadgen_answer *answer);
/* Takes bytes of the body. is_stream: by its status and content type. */
void loadgen_answer_feed(struct loadgen_answer *answer, bool is_stream, const char *bytes,
                         size_t n);

struct loadgen_end {       /* how the transfer ended */
    long http_status;      /* 0 = none came */
    const char *transport; /* NULL, or what the connection died of */
    int32_t n_wanted;      /* requested tokens */
    bool may_stop_early;   /* the end token was not to be ignored */
    bool ends_by_stop;     /* its last token had to be a stop token */
};
/* Fills the record's fields of the answer: why, http_status, n_output, n_cached, first_ns,
 * gap_ns_max. If the answer is not right, answer->wrong has the sentence. */
void loadgen_answer_judge(struct loadgen_answer *answer, const struct loadgen_end *end,
                          struct record *record);
