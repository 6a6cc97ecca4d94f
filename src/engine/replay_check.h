/* Checks a log's records of an engine's options and mail, before an engine uses them. Each function
 * returns NULL when all is well, else a sentence. Private to this room. */
#pragma once
#include "engine/log.h"

const char *engine_replay_check_opened(const struct engine_log_opened *opened);
const char *engine_replay_check_services(const struct engine_log_opened *opened,
                                         const struct service_spec *specs,
                                         const struct kv_layout *layouts);
const char *engine_replay_check_service(const struct engine_log_opened *opened,
                                        const struct service_spec *spec,
                                        const struct kv_layout *layout);
const char *engine_replay_check_config(const struct schedule_config *config);
/* The bytes that the engine will take, about. */
int64_t engine_replay_check_memory(const struct engine_log_opened *opened);
bool engine_replay_check_perf(const struct perf *perf);
bool engine_replay_check_bytes(int64_t n); /* within what a log may count */
