/* A change of the models of a house: which join and which leave. */
#pragma once
#include "config/config.h"

/* One at a time: all of it at once, or nothing. */
struct wire_change {
    const struct config_model *adds; /* (n_adds) copied, but for their texts, which stay until done;
                                        their names are taken by none that stays */
    int n_adds;
    int removes[LIMIT_MODELS]; /* (n_removes) services; each goes on with the requests that it has,
                                  and is gone when they are over */
    int n_removes;
    bool is_by_path; /* an operator adds them: they are in no configuration */
    /* Called when everything else is ready. A fault: nothing changes. */
    enum status (*settle)(void *self, struct fault *fault);
    /* How it went; called from wire_step. service: of the first that was added. */
    void (*done)(void *self, enum status status, const struct fault *fault, int service);
    void *self;
};
