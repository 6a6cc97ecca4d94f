/* Wires the whole server (struct house). Only this part knows which backend, policy and bus are
 * real.
 *
 * There is one process. Gateway, manager and node share the caller's thread over the local bus.
 * Each engine, its executor and its loader have their own threads. */
#pragma once
#include "api/api.h"
#include "config/config.h"

struct house;

/* Opens every model's header (a bad file is reported now), its tokenizer and template, and starts
 * the engines. Models begin to load at the first steps. */
enum status wire_open(struct house **out, const struct config *config,
                      struct fault *fault) MUST_USE;
/* Returns false when not all of the engines' logs and of the trace could be written. */
bool wire_close(struct house *house);
/* Moves messages until none are left. Returns the next wake. */
int64_t wire_step(struct house *house, int64_t now_ns);
struct service wire_service(struct house *house);
struct control wire_control(struct house *house);
const char *const *wire_devices(const struct house *house); /* per engine: "cpu:0-1" */
/* Puts the models that clients may name into `out`, at most LIMIT_MODELS. Returns how many. */
int wire_models(const struct house *house, const struct api_model **out);
/* Sets the api that is notified when the models change. */
void wire_tell_api(struct house *house, struct api *api);

/* ---- Models join and leave, one change at a time, each completely or not at all. ---- */
struct wire_change {
    const struct config_model *adds; /* (n_adds) copied, except for their texts, which must stay
                                        until done; no model that stays may have their names */
    int n_adds;
    int removes[LIMIT_MODELS]; /* (n_removes) services; each finishes the requests that it has, and
                                  then leaves */
    int n_removes;
    bool is_by_path; /* an operator adds them, so no configuration has them */
    /* Called when everything else is ready. If it returns a fault, nothing changes. */
    enum status (*settle)(void *self, struct fault *fault);
    /* Reports the result; called from wire_step. service: of the first added model. */
    void (*done)(void *self, enum status status, const struct fault *fault, int service);
    void *self;
};
/* Begins a change. A separate thread reads the files of added models. BUSY: another change is
 * running. */
enum status wire_change(struct house *house, const struct wire_change *change,
                        struct fault *fault) MUST_USE;
bool wire_is_changing(const struct house *house);
/* Does the same for one model that leaves, at once. */
void wire_remove_model(struct house *house, int service);
/* Returns the service that has this name or alias and is not leaving; -1: none. */
bool wire_is_by_path(const struct house *house, int service);
int wire_find_model(const struct house *house, const char *name, bool *is_by_path);
/* The loop that the bus to other machines needs to run on; NULL: it needs none. */
struct event_base *wire_base(const struct house *house);
int64_t wire_http_bytes(const struct house *house); /* that the API may hold for clients */
/* Appends Prometheus text for what the API does not see: the quality of length predictions. */
void wire_metrics(void *house, struct str *out);
