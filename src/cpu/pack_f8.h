/* Packed panels of F8_E4M3; pack.h draws the layout. */
#pragma once
#include "cpu/pack.h"

/* Packs 16 rows of the tensor, from row 16 * panel on. A group of 128 that holds a NaN gets the
 * scale NaN, since every product with its row is NaN then. */
void cpu_pack_f8_panel(const struct tensor *tensor, int32_t panel, unsigned char *to);
/* Reads one row back. */
void cpu_pack_f8_row(const struct compute_weight *weight, int32_t row, float *out);
