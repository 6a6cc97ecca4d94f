/* The end of a process: its fetches end soon, each with CANCELLED. The parts stay for the next
 * process. */
#pragma once
#include "base/base.h"

void fetch_stop(void); /* for good; from any thread */
bool fetch_is_stopped(void);
/* Sleeps for so long, or until fetches are stopped. */
void fetch_sleep_ns(int64_t ns);
