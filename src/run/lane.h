/* One lane of the real executor. It lays batches out as passes, keeps the device's lane busy with
 * them, and reads their draws. It belongs to the engine's thread and never waits.
 *
 *   a batch: given --laid out, pass by pass--> all begun --the last pass ended--> reported
 *
 * As many passes are in flight as the device's lane is deep, so the next one is prepared while one
 * runs. A batch with more rows than a pass may have is computed in several passes, since a row's
 * result depends neither on its neighbours nor on its pass.
 *
 * A padded batch (batch.pad_to) computes the same as a static server: every row is as long as the
 * longest. Pads, and the rows of ended members, are sequences of their own over blocks that no
 * request reads (kv_pads), so that they cost their time and change nothing. Attention of a shorter
 * row over its pads is left out, since a mask would drop it.
 *
 * A batch fails when one of its passes does. Batches behind a failed copy on the same lane fail
 * too, since they would read the data that it should have brought. */
#pragma once
#include "engine/exec.h"
#include "run/model.h"

enum { RUN_LANE_DEPTH = 2 };

struct run_lane_options {
    struct compute_device *device;
    int32_t n_rows_max;       /* rows of one pass */
    int32_t n_logit_rows_max; /* requests of one batch */
    uint16_t id;              /* of its engine, for the threads' names */
};
/* Shared by all lanes of an executor. Its owner changes it between batches of a service. */
struct run_lane_shared {
    struct engine_exec_view view;
    const struct run_model *models[LIMIT_MODELS];
    struct perf steady[LIMIT_MODELS]; /* all 0: batches take their own time */
    struct compute_memory *pool, *host;
    void (*notify)(void *arg); /* see struct compute_work */
    void *notify_arg;
};
struct run_lane_result {
    struct engine_exec_done done;
    int32_t n_new[LIMIT_BATCH_ITEMS];
    const struct token_logprobs *logprobs[LIMIT_BATCH_ITEMS];
    struct token_logprobs *store; /* (n_logit_rows_max) */
    int32_t n_asked;              /* logit rows of its passes so far */
    int n_in_flight;
    bool is_begun; /* all of its passes are begun */
};
/* One piece of work, with all that it points to. */
struct run_lane_slot {
    struct compute_pass pass;
    struct compute_copy copy;
    int batch; /* index in the job; -1: the slot is free */
    bool is_copy;
    int32_t *ids, *positions, *logit_rows, *item_of_logit, *drawn;
    uint8_t *classes;
    struct compute_ask *asks;
    struct compute_sequence *sequences;
    struct copy_part *parts;
    uint32_t *pad_table; /* block tables of this pass' pads, one behind the other */
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
        int32_t run;      /* and its progress: see lane_executor.c */
        int64_t at;       /* rows, or parts of a copy */
        bool has_lost_kv; /* a copy failed */
    } job;
    struct run_lane_result results[LIMIT_BATCHES];
    int64_t n_pad_rows; /* ever computed: pads, and rows of ended members */
};
void run_lane_open(struct run_lane *lane, const struct run_lane_options *options, int index,
                   const struct run_lane_shared *shared);
/* Begins nothing more. Returns true once all work in flight has ended; then the lane may be
 * closed. */
bool run_lane_end(struct run_lane *lane);
void run_lane_close(struct run_lane *lane);
/* Adds and removes the workspaces for a model's batches, together with the model. */
enum status run_lane_put_model(struct run_lane *lane, int service, const struct run_model *model,
                               struct fault *fault) MUST_USE;
void run_lane_remove_model(struct run_lane *lane, int service);
/* Begins one round of batches, in turn. All earlier ones have been reported. */
void run_lane_begin(struct run_lane *lane, const struct batch *batches, int n_batches);
/* Reports the next batch that has ended. Its results stay until the next begin. */
bool run_lane_poll(struct run_lane *lane, struct engine_exec_done *done);
