/* Models that join and leave a house while it runs, and what clients may name. */
#pragma once
#include "api/api.h"
#include "cmd/wire_change.h"

struct house;

/* The models that clients may name: at most LIMIT_MODELS of them into `out`. Returns how many. */
int wire_models(const struct house *house, const struct api_model **out);
/* This api is told when the models change. */
void wire_tell_api(struct house *house, struct api *api);

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

/* ---- For wire.c alone. ---- */

/* Moves the change that is under way, and the models that leave. Returns the next wake. */
int64_t wire_join_step(struct house *house, int64_t now_ns);
/* Waits for the opener, before a house closes. */
void wire_join_end(struct house *house);
