/* A model of a server, described by its configuration and by its file. Its number is that of its
 * service. Another model may get the number later, in another life.
 *
 *   VACANT --opened--> OPEN --its engines have it, admitted--> THERE --it is to leave--> LEAVING
 *      ^                 |                                                                  |
 *      |<----given up----+                                       none of its requests is left
 *      |                                                                                    v
 *      +--the engines have it no more-- REMOVING <--no engine has its model-- GOING <-------+ */
#pragma once
#include "api/api.h"
#include "config/config.h"
#include "kv/cut.h"
#include "predict/profile.h"
#include "serve/adapters.h"
#include "serve/file.h"
#include "serve/model_card.h"

struct compute_device;

enum serve_offer_state {
    OFFER_VACANT,
    OFFER_OPENING, /* its file is being read, by another thread */
    OFFER_OPEN,
    OFFER_THERE,
    OFFER_LEAVING,
    OFFER_GOING,
    OFFER_REMOVING
};
struct serve_offer {
    enum serve_offer_state state; /* the caller's: opening does not touch it */
    bool is_open;                 /* its file was read */
    bool is_by_path;              /* an operator added it, so no configuration has it */
    bool is_defined;              /* an operator deployed it, so the cluster's store has it */
    struct pile pile;             /* of the model's texts */
    struct serve_file file;       /* while it is open */
    struct config_model model;    /* as it is configured */
    struct service_spec service;
    struct model_card card;
    struct predict_profile profile; /* read from a file; without groups: none */
    struct kv_shape shape;
    struct kv_layout layout;
    enum dtype kv_dtype;
    int64_t need_bytes; /* weights, adapters and activations */
    struct api_model api;
    struct serve_adapters *adapters; /* NULL: it has none */
};
struct serve_offer_options {
    const struct config *config; /* its global settings apply */
    /* Engines' devices. The first that it may run on checks and measures it. NULL: none is here. */
    struct compute_device *devices[LIMIT_DEVICES];
    int32_t n_rows_max;
    uint16_t life; /* of its service */
    bool is_by_path;
};
/* Opens the model's header, on any thread, and reads what engines and clients need. The caller
 * makes the layout. After a fault there is nothing to close. */
enum status serve_offer_open(struct serve_offer *offer, int number,
                             const struct config_model *model,
                             const struct serve_offer_options *options,
                             struct fault *fault) MUST_USE;
/* Frees its data and makes it VACANT. */
void serve_offer_close(struct serve_offer *offer);
/* Returns its service with what the placement says of an engine, where it has this number. */
struct service_spec serve_offer_placed(const struct serve_offer *offer,
                                       const struct config_engine *engine, int number);
/* Returns the times of its profile on a device; zeros: they are measured there. */
struct perf serve_offer_perf(const struct serve_offer *offer, const struct device_spec *device);
/* Puts the model and its adapters into `out`, as clients see them. Returns how many. */
int serve_offer_models(const struct serve_offer *offer, const struct api_model **out);
/* Returns the files of its adapters; NULL: it has none. */
const struct run_adapter_files *serve_offer_adapters(const struct serve_offer *offer);
/* Returns whether the model has this name, or one of these aliases of another. */
bool serve_offer_has_name(const struct serve_offer *offer, const char *name);
