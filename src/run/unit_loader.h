/* The loader's thread of a unit. For the unit's own files alone. */
#pragma once
#include "run/unit_state.h"

void run_unit_loader(void *unit); /* until unit->is_closing */
/* Closes the model and the memory that was lent for it. Nothing uses it any more. */
void run_unit_loader_close(struct run_unit *unit, struct run_unit_service *service);
/* Gives the memory of a sleeping model back, which then is unloaded. */
void run_unit_loader_end_sleep(struct run_unit *unit, struct run_unit_service *service);
