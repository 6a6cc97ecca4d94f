/* The account of static batches (core/pads.h): positions that they computed in vain, for each
 * request's row and for each service. Only an engine whose policy pads batches has one. The rest of
 * the engine passes batches on as they are, and NULL means no account. */
#pragma once
#include "core/pads.h"
#include "core/report.h"

struct engine;
struct engine_exec_done;
struct engine_flight;
struct engine_options;
struct engine_pads;
struct kv_layout;

/* Returns the KV units beside the pool into which pads are computed. For the pads of each lane that
 * is one block that is only read, two of a row's own, and those of engine_options.pad_tokens. */
int64_t engine_pads_units(const struct engine_options *options, const struct kv_layout *layout);
/* Returns NULL when the options' policy pads no batches. */
struct engine_pads *engine_pads_open(const struct engine_options *options);
void engine_pads_close(struct engine_pads *pads);
/* Reset the account of a slot's request, and of a service. */
void engine_pads_begin_request(struct engine_pads *pads, uint32_t slot);
void engine_pads_begin_service(struct engine_pads *pads, int service);
/* Counts a batch that ended, whose scratch holds n_new and n_computed of its items. Returns what it
 * computed in vain: the pads of its first round, and the rows of members that had ended before a
 * round, in an earlier batch or in this one. */
struct pads_sum engine_pads_count(struct engine *engine, const struct engine_flight *flight,
                                  const struct engine_exec_done *done);
/* Returns the account of a request since it was submitted. */
struct pads_lost engine_pads_lost(const struct engine_pads *pads, uint32_t slot);
/* Puts a service's counts into its report. */
void engine_pads_report(const struct engine_pads *pads, int service, struct service_report *report);
