/* Writes log lines to stderr, as text or as JSON, each by one write. A log line never contains a
 * prompt. */
#pragma once
#include "base/base.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set(enum log_level level_min, bool as_json);
/* Writes one line. Usage: log_line(LOG_INFO, "engine", "loaded %s", name). `part` names the room or
 * the part; the text is one sentence. */
void log_line(enum log_level level, const char *part, const char *fmt, ...) PRINTF_LIKE(3, 4);
