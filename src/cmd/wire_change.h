/* A change of the models of a house: which join and which leave. */
#pragma once
#include "config/config.h"

/* One change at a time, each completely or not at all. */
struct wire_change {
    const struct config_model *adds; /* (n_adds) copied, except for their texts, which must stay
                                        until done; no model that stays may have their names */
    int n_adds;
    int removes[LIMIT_MODELS]; /* (n_removes) services; each finishes the requests that it has, and
                                  then leaves */
    int n_removes;
    bool is_by_path; /* an operator adds them, so no configuration has them */
    uint16_t life;   /* of the only added model, as the store defines it; 0: it is no store's */
    /* Called when everything else is ready. If it returns a fault, nothing changes. */
    enum status (*settle)(void *self, struct fault *fault);
    /* Reports the result; called from wire_step. service: of the first added model. */
    void (*done)(void *self, enum status status, const struct fault *fault, int service);
    void *self;
};
