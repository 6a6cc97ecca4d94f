/* The options of a unit: see unit.h. */
#pragma once
#include "engine/host.h"
#include "run/executor.h"

struct tokenizer;
struct weights_card;

struct run_unit_lent {
    int fd;
    uint64_t file_hash;
};
/* Lends the packed weights of a model, as a descriptor whose bytes another process packed. */
struct run_unit_lender {
    void *self;
    /* Called by the loader's thread, when the bytes are booked; waits. *fd is the unit's to close.
     * file_hash: of the file that was packed (weights_hash). STATUS_CANCELLED when progress->cancel
     * was set. */
    enum status (*lend)(void *self, int service, int64_t n_bytes, struct run_progress *progress,
                        struct run_unit_lent *lent, struct fault *fault);
};

struct run_unit_options {
    struct engine_host_options host; /* engine.exec is filled in by the unit */
    struct compute_device *device;
    /* Opens the device again after it was lost. It runs on the loader's thread. NULL: a lost device
     * stays lost. */
    enum status (*reopen)(void *self, struct compute_device **out, struct fault *fault);
    void *reopen_self;
    const char *const *paths; /* per service; copied */
    /* For each service, the content of its file when the engine's KV was laid out and its tokenizer
     * read. A file with another content later is refused. They outlive the unit; NULL = not
     * checked. */
    const struct model_spec *const *specs;
    /* Per service, for requests with a grammar. They outlive the unit; NULL: there are none. */
    const struct tokenizer *const *tokenizers;
    struct grammar_cache *grammars; /* the process's; NULL: no request has a grammar */
    /* Opens the tokenizer of a model that is loaded, in a process that has no tokenizers of its
     * own. It runs on the loader's thread; the unit closes the tokenizer with the model. NULL: the
     * tokenizers above serve. */
    enum status (*open_tokenizer)(struct tokenizer **out, const struct weights_card *card,
                                  struct fault *fault);
    /* For each service a known performance model. It is measured at load when its decodes cost
     * nothing, or when perfs is NULL. Copied. */
    const struct perf *perfs;
    const enum dtype *kv_dtypes; /* per service; copied */
    int32_t n_rows_max, n_logit_rows_max;
    int64_t profile_ns;            /* budget of the micro-profile */
    int64_t sleep_bytes;           /* host memory for the packed weights of models that sleep */
    struct run_unit_lender lender; /* zeros: the unit packs */
    double steady; /* batches take at least this many times the time of perfs or the micro-profile;
                      0: off */
};
