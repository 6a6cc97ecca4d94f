/* Every limit of the program, by name, in one place. Tables are sized from these and from the
 * options at start. */
#pragma once
#include "base/base.h"

enum {
    LIMIT_SERVICES = 1024,     /* services of one cluster */
    LIMIT_NODES = 4096,        /* nodes of one cluster */
    LIMIT_ENGINES = 16384,     /* engines of one cluster; tables have as many as are configured */
    LIMIT_GATEWAYS = 256,      /* gateways that may use one node */
    LIMIT_MODELS = 64,         /* models of one `serve`; it holds their cards and texts */
    LIMIT_DEVICES = 16,        /* engines of one `serve`, a device each */
    LIMIT_LANES = 8,           /* shares of one device group */
    LIMIT_BATCHES = 32,        /* batches of one plan, and in flight at once */
    LIMIT_BATCH_ITEMS = 1024,  /* requests in one batch */
    LIMIT_BATCH_TOKENS = 8192, /* tokens computed by one batch */
    LIMIT_NAME_BYTES = 128,    /* a model's public id, with its zero byte */
    LIMIT_STOP_IDS = 64,       /* stop token ids of a request */
    LIMIT_STOP_TEXTS = 16,     /* stop strings of a request */
    LIMIT_STOP_BYTES = 1024,   /* bytes of one stop string */
    LIMIT_BIASES = 1024,       /* logit_bias entries of a request */
    LIMIT_GRAMMAR_BYTES = 256 << 10, /* text of a request's grammar */
    LIMIT_TOP_LOGPROBS = 20,
    LIMIT_CHOICES = 128,     /* n of a completion */
    LIMIT_PROMPTS = 128,     /* prompts of one completion call */
    LIMIT_INPUTS = 2048,     /* texts of one call that embeds or ranks them */
    LIMIT_VECTOR = 1 << 16,  /* floats of an embedding: the widest model */
    LIMIT_CONTEXT = 1 << 20, /* positions that a model may claim */
    LIMIT_TPOT_MS = 3600000, /* target per token, low enough that LIMIT_CONTEXT times it fits into
                                int64 nanoseconds */
    LIMIT_LAYERS = 512,
    LIMIT_HEADS = 1024,
    LIMIT_EXPERTS = 256,     /* of a layer */
    LIMIT_EXPERTS_USED = 32, /* by one token */
    LIMIT_HEAD_DIM = 4096,
    LIMIT_VOCABULARY = 1 << 20,
    LIMIT_ADAPTERS = 64,     /* LoRA adapters of one model */
    LIMIT_ADAPTER_RANK = 256,
    LIMIT_KV_GROUPS = 4, /* groups of layers with one KV shape */
};
