/* The rows of a pass; see filling.h. */
#include "run/filling.h"

/* A padded batch may grow beyond the model's last position. Its pads then stay on that position,
 * since the model has not learned later ones. */
void run_filling_add(struct run_filling *f, int32_t n_before, int32_t n_rows,
                     struct run_table table, const int32_t *ids)
{
    struct run_lane_slot *slot = f->slot;
    struct compute_pass *pass = &slot->pass;
    int32_t last = weights_spec(f->model->weights)->n_positions_max - 1;
    slot->sequences[pass->n_sequences++] =
        (struct compute_sequence){ pass->n_rows, n_rows, n_before, table.blocks, table.stride };
    for (int32_t k = 0; k < n_rows; k++) {
        slot->ids[pass->n_rows + k] = ids != NULL ? ids[k] : 0;
        slot->positions[pass->n_rows + k] =
            ids != NULL ? n_before + k : min_i32(n_before + k, last);
        slot->classes[pass->n_rows + k] = COMPUTE_ROW_PROMPT;
        slot->adapters[pass->n_rows + k] = 0;
    }
    pass->n_rows += n_rows;
}
