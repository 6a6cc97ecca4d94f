/* Wires the whole server (struct house). Only this part knows which backend, policy and bus are
 * real.
 *
 * Gateway, manager and node share the caller's thread over the local bus. Each engine, with its
 * executor and its loader, is a process (process/unit.h), or has threads of this process. */
#pragma once
#include "base/str.h"
#include "config/config.h"
#include "core/control.h"
#include "core/service.h"

struct house;
struct json_out;

/* Opens every model's header (a bad file is reported now), its tokenizer and template, and starts
 * the engines. Models begin to load at the first steps. */
enum status wire_open(struct house **out, const struct config *config,
                      struct fault *fault) MUST_USE;
/* Returns false when not all of the engines' logs and of the trace could be written. */
bool wire_close(struct house *house);
/* Moves messages until none are left. Returns the next wake. */
int64_t wire_step(struct house *house, int64_t now_ns);
/* The process ends: see cluster_node_leave. */
bool wire_leave(struct house *house, int64_t now_ns);
struct service wire_service(struct house *house);
struct control wire_control(struct house *house);
const char *const *wire_devices(const struct house *house); /* per engine: "cpu:0-1" */
/* The loop that the bus to other machines needs to run on; NULL: it needs none. */
struct event_base *wire_base(const struct house *house);
struct grammar_cache *wire_grammars(const struct house *house);
int64_t wire_http_bytes(const struct house *house); /* that the API may hold for clients */
/* Appends Prometheus text for what the API does not see: the quality of length predictions. */
void wire_metrics(void *house, struct str *out);
/* Adds keys about an engine's device to a JSON object; see cmd/wire_devices.c. */
void wire_describe_engine(void *house, int engine, struct json_out *json);
