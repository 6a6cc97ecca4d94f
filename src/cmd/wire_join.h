/* Models that join and leave a house while it runs, and what clients may name. */
#pragma once
#include "api/api.h"
#include "cmd/wire_change.h"

struct house;

/* Puts the models that clients may name into `out`, at most API_MODELS_MAX. Returns how many. */
int wire_models(const struct house *house, const struct api_model **out);
/* Sets the api that is notified when the models change. */
void wire_tell_api(struct house *house, struct api *api);

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

/* ---- For wire.c alone. ---- */

/* Continues the running change, and removes models that leave. Returns the next wake. */
int64_t wire_join_step(struct house *house, int64_t now_ns);
/* Waits for the opener's thread, before a house closes. */
void wire_join_end(struct house *house);
