/* The keys of the configuration as data: meaning, place in the struct, and permitted values. */
#pragma once
#include "config/config.h"
#include "config/text.h"

enum config_type {
    CONFIG_TEXT,
    CONFIG_BOOL,
    CONFIG_COUNT,
    CONFIG_NUMBER, /* double */
    CONFIG_BYTES,
    CONFIG_DURATION,
    CONFIG_TEXTS
};
struct config_key {
    const char *name; /* "kv_bytes"; "slo.ttft_ms" lies in a mapping of its own */
    enum config_type type;
    size_t offset;    /* in struct config, or struct config_model */
    size_t n_offset;  /* TEXTS: where the count lies */
    int64_t min, max; /* numbers; TEXTS: max is the most entries */
    const char *help;
    enum config_text text; /* of TEXT and TEXTS: the permitted characters */
};
const struct config_key *config_table_globals(int *n);
const struct config_key *config_table_models(int *n);
/* Sets a key from text. On failure the sentence has the expected form. */
enum status config_table_assign(struct pile *pile, void *base, const struct config_key *key,
                                const char *value, struct fault *fault);
