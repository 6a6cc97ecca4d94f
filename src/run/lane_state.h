/* The parts of a lane of the real executor: its work in flight, and that work's memory. lane.h
 * describes what a lane does. */
#pragma once
#include "engine/exec.h"
#include "run/model.h"

enum { RUN_LANE_DEPTH = 2 };

struct grammar_cache;
struct run_guides;

struct run_lane_options {
    struct compute_device *device;
    int32_t n_rows_max;             /* rows of one pass */
    int32_t n_logit_rows_max;       /* requests of one batch */
    uint16_t id;                    /* of its engine, for the threads' names */
    struct grammar_cache *grammars; /* NULL: no request has a grammar */
};
/* Shared by all lanes of an executor. Its owner changes it between batches of a service. */
struct run_lane_shared {
    struct engine_exec_view view;
    const struct run_model *models[LIMIT_MODELS];
    struct run_guides *guides;
    struct perf steady[LIMIT_MODELS]; /* all 0: batches take their own time */
    struct compute_memory *pool, *host;
    void (*notify)(void *arg); /* see struct compute_work */
    void *notify_arg;
};
struct run_lane_result {
    struct engine_exec_done done;
    int32_t n_new[LIMIT_BATCH_ITEMS];
    bool is_broken[LIMIT_BATCH_ITEMS]; /* answers that can't follow their grammars */
    const struct token_logprobs *logprobs[LIMIT_BATCH_ITEMS];
    struct token_logprobs *store; /* (n_logit_rows_max) */
    int32_t n_asked;              /* logit rows of its passes so far */
    int32_t n_read;               /* rounds with known draws */
    int n_in_flight;
    bool is_begun; /* all of its passes are begun */
};
/* One piece of work, with all that it points to. */
struct run_lane_slot {
    struct compute_pass pass;
    struct compute_copy copy;
    int batch;     /* index in the job; -1: the slot is free */
    int32_t round; /* of a pass */
    bool is_copy;
    int32_t *ids, *positions, *logit_rows, *item_of_logit, *drawn;
    uint32_t *masks; /* (n_logit_rows_max, n_mask_words), once a request has a grammar */
    size_t n_mask_words;
    uint8_t *classes;
    uint16_t *adapters; /* of rows */
    struct compute_ask *asks;
    struct token_logprobs *scores; /* (n_logit_rows_max) of prompt tokens */
    struct compute_sequence *sequences;
    struct compute_vector *vectors; /* as many */
    struct copy_part *parts;
    uint32_t *pad_table; /* pads.c: block tables of this pass' pads, one behind the other */
    size_t n_pad_table_max;
};
struct run_lane {
    struct run_lane_options options;
    const struct run_lane_shared *shared;
    int index;
    struct compute_workspace *workspaces[LIMIT_MODELS]; /* as shared->models */
    struct run_lane_slot slots[RUN_LANE_DEPTH];
    uint64_t n_begun, n_ended; /* slots, ever: each uses slots[n % RUN_LANE_DEPTH] */
    struct {
        struct batch batches[LIMIT_BATCHES];
        struct batch_item items[LIMIT_BATCHES][LIMIT_BATCH_ITEMS];
        int n_batches, n_told;
        int batch;        /* the current one, */
        int32_t round;    /* and its progress: see rows.c */
        int32_t n_rounds; /* 1, unless the job is a chain */
        int32_t part;
        int64_t at;       /* rows, or parts of a copy */
        bool has_lost_kv; /* a copy failed */
    } job;
    struct run_lane_result results[LIMIT_BATCHES];
    int64_t n_pad_rows; /* ever computed: pads, and rows of ended members */
    int64_t n_chained;  /* passes ever begun while the pass before them was in flight */
};
