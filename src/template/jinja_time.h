/* The date and time that templates see. */
#pragma once
#include "template/jinja.h"

/* Accepts "2026-01-31" and "2026-01-31T12:30:00" when the day exists. */
bool jinja_time_is_valid(const char *text);
/* Does Python's datetime.now().strftime(format). now is run->time, else the local time. Returns a
 * STRING. */
struct jinja_value jinja_time_format(struct jinja_run *run, struct view format);
