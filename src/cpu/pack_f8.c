/* Packs matrices of F8_E4M3, and reads rows back. */
#include "cpu/pack_f8.h"

#include "compute/vmath.h"
#include <string.h>

void cpu_pack_f8_panel(const struct tensor *tensor, int32_t panel, unsigned char *to)
{
    int32_t n = min_i32(CPU_PANEL, tensor->n_rows - panel * CPU_PANEL);
    for (int32_t i = 0; i < tensor->n_columns / CPU_F8_UNIT; i++, to += CPU_F8_BYTES) {
        if (n < CPU_PANEL)
            memset(to, 0, CPU_F8_BYTES);
        for (int32_t o = 0; o < n; o++) {
            unsigned char made[QUANT_MADE_BYTES];
            const unsigned char *from = quant_block_at(tensor, panel * CPU_PANEL + o, i, made);
            unsigned char *column = to + CPU_F8_HEAD + o;
            bool has_nan = false;
            float scale;
            memcpy(&scale, from, sizeof(scale));
            from += sizeof(scale);
            for (int k = 0; k < CPU_F8_UNIT; k++, column += CPU_PANEL) {
                *column = from[k];
                has_nan = has_nan || f8_is_nan(from[k]);
            }
            scale = has_nan ? vmath_of_bits(0x7FC00000u) : scale * 256.0f;
            memcpy(to + sizeof(scale) * (size_t)o, &scale, sizeof(scale));
        }
    }
}

void cpu_pack_f8_row(const struct compute_weight *weight, int32_t row, float *out)
{
    const unsigned char *unit = weight->panels + (size_t)(row / CPU_PANEL) * weight->panel_bytes;
    size_t o = (size_t)row % CPU_PANEL;
    for (int32_t k = 0; k < weight->n_columns; k += CPU_F8_UNIT, unit += CPU_F8_BYTES) {
        float scale;
        memcpy(&scale, unit + sizeof(scale) * o, sizeof(scale));
        for (size_t i = 0; i < CPU_F8_UNIT; i++)
            *out++ = half_to_float(f8_to_half(unit[CPU_F8_HEAD + CPU_PANEL * i + o])) * scale;
    }
}
