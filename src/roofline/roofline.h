/* shoal bench kernels compares a model's forward pass with the machine's limits and with peers.
 *
 * measure.c times ours, peer.c other engines; print.c and plot.c
 * show the results. Rounds alternate between ours and each peer, and ratios are of the same
 * round. */
#pragma once
#include "base/doc.h"
#include "roofline/work.h"
#include "run/model.h"

enum {
    ROOFLINE_POINTS = 8,     /* of a model */
    ROOFLINE_ATTENTIONS = 9, /* contexts times batches */
    ROOFLINE_PEERS = 3,
    ROOFLINE_VARIANTS = 4, /* flash attention off and on, weights repacked or not */
    ROOFLINE_ROUNDS = 15,
    ROOFLINE_PATH = 512,
    ROOFLINE_FAILED = 2 * ROOFLINE_PEERS * ROOFLINE_VARIANTS, /* programs with their flags */
};

/* ---- The machine. ---- */

struct roofline_machine {
    struct device_spec device; /* its cores are those used */
    struct cpu_limits_sizes sizes;
    double read[3][2]; /* by level (L2, L3, memory): one core; all cores */
    double peak[CPU_LIMIT_N][2];
};
void roofline_machine_measure(struct roofline_machine *machine);

/* ---- Ours. ---- */

struct roofline_row {
    struct roofline_point point;
    struct roofline_limit limit; /* in the last round */
    double read;  /* bytes per second at this pass' footprint, which that limit uses */
    int n_rounds; /* ours[0 .. n_rounds) and peers' of the same rounds */
    double ours[ROOFLINE_ROUNDS];      /* seconds of a pass */
    double fractions[ROOFLINE_ROUNDS]; /* of the limit, measured before and after */
    double others[ROOFLINE_ROUNDS];    /* cores used by others meanwhile */
    double peers[ROOFLINE_PEERS][ROOFLINE_VARIANTS]
                [ROOFLINE_ROUNDS]; /* tokens/s; 0: not measured */
    double peer_others[ROOFLINE_PEERS][ROOFLINE_ROUNDS];
};

struct roofline_shape { /* everything that the time of attention alone depends on */
    int32_t n_layers, n_heads, n_kv_heads, head_dim;
};

struct roofline_left_out { /* a row that was not measured */
    struct roofline_point point;
    char why[96];
};

struct roofline_model {
    const char *path, *name; /* as given, and its last part */
    int64_t file_bytes, packed_bytes;
    struct roofline_shape shape;
    double pack_s;
    int n_rows, n_attentions, n_left_out;
    struct roofline_row rows[ROOFLINE_POINTS], attentions[ROOFLINE_ATTENTIONS];
    struct roofline_left_out left_out[ROOFLINE_POINTS + ROOFLINE_ATTENTIONS];
    int n_failed;
    char failed[ROOFLINE_FAILED][512]; /* a sentence for each failed program of a peer */
    bool is_aside[ROOFLINE_PEERS][ROOFLINE_VARIANTS][2]; /* it did: llama-bench, the batched one */
};

struct roofline_meter; /* a model in memory, ready to be timed */
struct roofline_options {
    int32_t n_generated; /* the row of a decode has this many tokens behind its prompt */
    int32_t n_depth;     /* a further decode behind this many tokens; 0 = none */
    int32_t n_batch_max; /* largest batch */
    bool has_prefill, has_attention;
};
/* Loads the model on the machine's cores and lists its points in `model`. Points without positions
 * in the model, or without memory, are marked as left out. */
enum status roofline_meter_open(struct roofline_meter **out, const char *path,
                                const struct roofline_machine *machine,
                                const struct roofline_options *options,
                                struct roofline_model *model, struct fault *fault) MUST_USE;
void roofline_meter_close(struct roofline_meter *meter);
/* Times each row once: the median of several passes, with the limit measured around them. */
void roofline_meter_round(struct roofline_meter *meter, struct roofline_model *model, int round);
/* Times attention alone for rows of model->attentions, once, with limits at their own
 * footprints. */
void roofline_meter_attention(struct roofline_meter *meter, const struct roofline_options *options,
                              struct roofline_model *model);

/* ---- Peers. ---- */

/* A program of llama.cpp's family: llama-bench, with llama-batched-bench beside it. */
struct roofline_peer {
    char bench[ROOFLINE_PATH], batched[ROOFLINE_PATH]; /* batched[0] == '\0': it is missing */
    bool is_ik;                                        /* ik_llama.cpp: other flags */
    char commit[64];
};
/* Asks the program for its options. */
enum status roofline_peer_open(struct roofline_peer *peer, const char *path,
                               struct fault *fault) MUST_USE;
/* Writes the flags of this variant, as the program expects them: "-fa 1 --repack 0". */
void roofline_peer_flags(const struct roofline_peer *peer, int variant, bool is_batched,
                         struct str *out);
struct roofline_visit { /* a peer's turn in one round */
    struct roofline_peer *peer;
    const struct roofline_options *options;
    struct roofline_model *model;         /* its rows are measured if the peer can run them */
    int variant, n_threads, index, round; /* index: the peer's index in the rows */
};
/* Runs one round. A program that fails, or prints no rates, is noted in the model, and not run with
 * it again. */
void roofline_peer_round(const struct roofline_visit *visit);
/* Reads the output of llama-bench -o json: the rate of the test of n_prompt and n_generated tokens
 * behind n_depth; 0 if missing. Sets the commit. */
double roofline_peer_rate(const char *text, int32_t n_prompt, int32_t n_generated, int32_t n_depth,
                          char commit[64]);
/* Reads the generation's rate of n sequences in llama-batched-bench's table; 0 if missing. */
double roofline_peer_batched_rate(const char *text, int32_t n_sequences);
/* Finds the best variant of a peer on a row, by the median over its rounds. Returns false when none
 * was measured. */
bool roofline_peer_best(const struct roofline_row *row, int peer, int *variant, double *rate);
/* Returns the median over rounds of ours / P, where P is the faster peer's best variant; 0: no
 * peer. */
double roofline_ratio(const struct roofline_row *row, int n_peers, int *peer);

/* ---- What was found. ---- */

struct roofline_report {
    const struct roofline_machine *machine;
    const struct roofline_model *models;
    int n_models;
    const struct roofline_peer *peers;
    int n_peers;
    const struct roofline_options *options;
};
void roofline_print(const struct roofline_report *report, struct doc *out);
void roofline_json(const struct roofline_report *report, struct str *out);
/* Writes a page: the roofline, with the limits as lines and each row as a point, then what was
 * printed as HTML. */
void roofline_page(const struct roofline_report *report, const struct str *printed,
                   struct str *html);
const char *roofline_point_name(const struct roofline_point *point, char text[64]);
