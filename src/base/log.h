/* Log lines on stderr: text for people or JSON lines, one write each; no prompts ever. */
#pragma once
#include "base/base.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set(enum log_level level_min, bool as_json);
/* log_line(LOG_INFO, "engine", "loaded %s", name): the room's or part's name, then one sentence. */
void log_line(enum log_level level, const char *part, const char *fmt, ...) PRINTF_LIKE(3, 4);
