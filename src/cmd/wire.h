/* The house, wired: the only place that knows which backend, policy and bus are real.
 *
 * One process: gateway, manager and node share the caller's thread over the local bus; each engine,
 * its executor and its loader have threads of their own. */
#pragma once
#include "api/api.h"
#include "cmd/config.h"

struct house;

/* Opens every model's header (a bad file is told now), its tokenizer and template; starts the
 * engines. Models begin to load at the first steps. */
enum status wire_open(struct house **out, const struct config *config,
                      struct fault *fault) MUST_USE;
/* False: not all of the engines' logs and of the trace could be written. */
bool wire_close(struct house *house);
/* Moves messages until there are none; the next wake. */
int64_t wire_step(struct house *house, int64_t now_ns);
struct service wire_service(struct house *house);
struct control wire_control(struct house *house);
const char *const *wire_devices(const struct house *house); /* per engine: "cpu:0-1" */
/* The models that clients may name: at most LIMIT_MODELS of them into `out`. Returns how many. */
int wire_models(const struct house *house, const struct api_model **out);
/* This api is told when the models change. */
void wire_tell_api(struct house *house, struct api *api);

/* ---- Models join and leave, one change at a time: all of it at once, or nothing. ---- */
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
/* Begins one. The files of what is added are read on a thread of its own. BUSY: another is under
 * way. */
enum status wire_change(struct house *house, const struct wire_change *change,
                        struct fault *fault) MUST_USE;
bool wire_is_changing(const struct house *house);
/* The same for one model that leaves, at once. */
void wire_remove_model(struct house *house, int service);
/* The service that has this name or alias and is not leaving; -1: none. */
bool wire_is_by_path(const struct house *house, int service);
int wire_find_model(const struct house *house, const char *name, bool *is_by_path);
/* The loop that the bus to other machines needs to run on; NULL: it needs none. */
struct event_base *wire_base(const struct house *house);
int64_t wire_http_bytes(const struct house *house); /* that the API may hold for clients */
/* Appends Prometheus text of what the API does not see: how lengths are predicted. */
void wire_metrics(void *house, struct str *out);
