/* The date and time that templates see. */
#pragma once
#include "template/jinja.h"

/* "2026-01-31" or "2026-01-31T12:30:00": a day that exists. */
bool jinja_time_is_valid(const char *text);
/* Python's datetime.now().strftime(format), now being run->time, else the local time. A STRING. */
struct jinja_value jinja_time_format(struct jinja_run *run, struct view format);
