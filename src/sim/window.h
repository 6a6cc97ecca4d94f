/* Windows: while a router that is blind (route/policy.h) sends to engines none of which can be full
 * before the window ends, what an engine does is nobody else's business until then. So a window's
 * requests are dealt out first, then each engine goes through all of its part at once, on any of
 * several threads and with its state in the cache, and what ended is told in the order of time. The
 * report is the same byte for byte, for any number of threads too.
 *
 * For this room alone. */
#pragma once
#include "base/base.h"

struct sim;
struct sim_engine;
struct service_event;
struct sim_windows;

/* Before the engines are opened. NULL: this simulation has none. */
struct sim_windows *sim_window_open(const struct sim *sim);
void sim_window_close(struct sim_windows *windows);
/* The clock that this engine's executor reads, and the scratch that its thread lends it. */
int64_t *sim_window_clock(struct sim_windows *windows, uint32_t engine);
struct engine_scratch *sim_window_scratch(struct sim_windows *windows, uint32_t engine);
void sim_window_set_clocks(struct sim_windows *windows, int64_t clock_ns);
/* The next window passes. False: there is none now, the next thing happens by itself. */
bool sim_window_pass(struct sim *sim);
/* An engine's event in a window is told later. False: it is none, or no window is open. */
bool sim_window_keep(struct sim *sim, struct sim_engine *engine, const struct service_event *event);
