/* The loader's thread of a unit. For the unit's own files alone. */
#pragma once

void run_unit_loader(void *unit); /* until unit->is_closing */
