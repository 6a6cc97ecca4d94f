/* shoal bench kernels compares a model's forward pass with the machine's limits and with peers.
 *
 * kernels_measure.c times ours, kernels_peer.c other engines; kernels_print.c and kernels_plot.c
 * show the results. Rounds alternate between ours and each peer, and ratios are of the same
 * round. */
#pragma once
#include "base/str.h"
#include "cmd/kernels_work.h"
#include "run/model.h"

enum {
    KERNELS_POINTS = 8,     /* of a model */
    KERNELS_ATTENTIONS = 9, /* contexts times batches */
    KERNELS_PEERS = 3,
    KERNELS_VARIANTS = 4, /* flash attention off and on, weights repacked or not */
    KERNELS_ROUNDS = 15,
    KERNELS_PATH = 512,
    KERNELS_FAILED = 2 * KERNELS_PEERS * KERNELS_VARIANTS, /* programs with their flags */
};

/* ---- The machine. ---- */

struct kernels_machine {
    struct device_spec device; /* its cores are those used */
    struct cpu_limits_sizes sizes;
    double read[3][2]; /* by level (L2, L3, memory): one core; all cores */
    double peak[CPU_LIMIT_N][2];
};
void cmd_kernels_machine_measure(struct kernels_machine *machine);

/* ---- Ours. ---- */

struct kernels_row {
    struct kernels_point point;
    struct kernels_limit limit; /* in the last round */
    double read;  /* bytes per second at this pass' footprint, which that limit uses */
    int n_rounds; /* ours[0 .. n_rounds) and peers' of the same rounds */
    double ours[KERNELS_ROUNDS];      /* seconds of a pass */
    double fractions[KERNELS_ROUNDS]; /* of the limit, measured before and after */
    double others[KERNELS_ROUNDS];    /* cores used by others meanwhile */
    double peers[KERNELS_PEERS][KERNELS_VARIANTS][KERNELS_ROUNDS]; /* tokens/s; 0: not measured */
    double peer_others[KERNELS_PEERS][KERNELS_ROUNDS];
};

struct kernels_shape { /* everything that the time of attention alone depends on */
    int32_t n_layers, n_heads, n_kv_heads, head_dim;
};

struct kernels_left_out { /* a row that was not measured */
    struct kernels_point point;
    char why[96];
};

struct kernels_model {
    const char *path, *name; /* as given, and its last part */
    int64_t file_bytes, packed_bytes;
    struct kernels_shape shape;
    double pack_s;
    int n_rows, n_attentions, n_left_out;
    struct kernels_row rows[KERNELS_POINTS], attentions[KERNELS_ATTENTIONS];
    struct kernels_left_out left_out[KERNELS_POINTS + KERNELS_ATTENTIONS];
    int n_failed;
    char failed[KERNELS_FAILED][512]; /* a sentence for each failed program of a peer */
    bool is_aside[KERNELS_PEERS][KERNELS_VARIANTS][2]; /* it did: llama-bench, the batched one */
};

struct kernels_meter; /* a model in memory, ready to be timed */
struct kernels_options {
    int32_t n_generated; /* the row of a decode has this many tokens behind its prompt */
    int32_t n_depth;     /* a further decode behind this many tokens; 0 = none */
    int32_t n_batch_max; /* largest batch */
    bool has_prefill, has_attention;
};
/* Loads the model on the machine's cores and lists its points in `model`. Points without positions
 * in the model, or without memory, are marked as left out. */
enum status cmd_kernels_meter_open(struct kernels_meter **out, const char *path,
                                   const struct kernels_machine *machine,
                                   const struct kernels_options *options,
                                   struct kernels_model *model, struct fault *fault) MUST_USE;
void cmd_kernels_meter_close(struct kernels_meter *meter);
/* Times each row once: the median of several passes, with the limit measured around them. */
void cmd_kernels_meter_round(struct kernels_meter *meter, struct kernels_model *model, int round);
/* Times attention alone for rows of model->attentions, once, with limits at their own
 * footprints. */
void cmd_kernels_meter_attention(struct kernels_meter *meter, const struct kernels_options *options,
                                 struct kernels_model *model);

/* ---- Peers. ---- */

/* A program of llama.cpp's family: llama-bench, with llama-batched-bench beside it. */
struct kernels_peer {
    char bench[KERNELS_PATH], batched[KERNELS_PATH]; /* batched[0] == '\0': it is missing */
    bool is_ik;                                      /* ik_llama.cpp: other flags */
    char commit[64];
};
/* Asks the program for its options. */
enum status cmd_kernels_peer_open(struct kernels_peer *peer, const char *path,
                                  struct fault *fault) MUST_USE;
/* Writes the flags of this variant, as the program expects them: "-fa 1 --repack 0". */
void cmd_kernels_peer_flags(const struct kernels_peer *peer, int variant, bool is_batched,
                            struct str *out);
struct kernels_visit { /* a peer's turn in one round */
    struct kernels_peer *peer;
    const struct kernels_options *options;
    struct kernels_model *model;          /* its rows are measured if the peer can run them */
    int variant, n_threads, index, round; /* index: the peer's index in the rows */
};
/* Runs one round. A program that fails, or prints no rates, is noted in the model, and not run with
 * it again. */
void cmd_kernels_peer_round(const struct kernels_visit *visit);
/* Reads the output of llama-bench -o json: the rate of the test of n_prompt and n_generated tokens
 * behind n_depth; 0 if missing. Sets the commit. */
double cmd_kernels_peer_rate(const char *text, int32_t n_prompt, int32_t n_generated,
                             int32_t n_depth, char commit[64]);
/* Reads the generation's rate of n sequences in llama-batched-bench's table; 0 if missing. */
double cmd_kernels_peer_batched_rate(const char *text, int32_t n_sequences);
/* Finds the best variant of a peer on a row, by the median over its rounds. Returns false when none
 * was measured. */
bool cmd_kernels_peer_best(const struct kernels_row *row, int peer, int *variant, double *rate);
/* Returns the median over rounds of ours / P, where P is the faster peer's best variant; 0: no
 * peer. */
double cmd_kernels_ratio(const struct kernels_row *row, int n_peers, int *peer);

/* ---- What was found. ---- */

struct kernels_report {
    const struct kernels_machine *machine;
    const struct kernels_model *models;
    int n_models;
    const struct kernels_peer *peers;
    int n_peers;
    const struct kernels_options *options;
};
void cmd_kernels_print(const struct kernels_report *report, struct str *out);
void cmd_kernels_json(const struct kernels_report *report, struct str *out);
/* Writes a page with the roofline: the limits as lines, each row as a point. */
void cmd_kernels_page(const struct kernels_report *report, struct str *out);
const char *cmd_kernels_point_name(const struct kernels_point *point, char text[64]);
