/* Packed F8_E4M3: what pack_test.c cannot see, since its matrices hold no NaN. */
#include "test.h"

#include "base/mem.h"
#include "cpu/kernels.h"
#include "ops/toy.h"

static void a_nan_makes_its_row_nan_alone(void **state)
{
    (void)state;
    enum { ROWS = 20, COLUMNS = 256, BAD = 17 };
    struct fault fault;
    struct team *team = team_open(1, NULL, false);
    struct tensor tensor = toy_tensor(DTYPE_F8_E4M3, ROWS, COLUMNS, 1);
    unsigned char *blocks = (unsigned char *)(uintptr_t)tensor.data;
    blocks[BAD * tensor.row_bytes + 132 + 4 + 9] = 0xFF;
    unsigned char *packed = mem_take(cpu_pack_bytes(&tensor));
    assert_int_equal(cpu_pack(team, &tensor, packed, &fault), STATUS_OK);
    struct compute_weight *weight = cpu_pack_bind(&tensor, packed);
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++) {
        struct cpu_kernels kernels;
        float x[COLUMNS] = { 1 }, out[CPU_TILE_PANELS * CPU_PANEL];
        cpu_isa_kernels((enum cpu_isa)isa, &kernels);
        const struct cpu_tile tile = { .panels = weight->panels,
                                       .panel_bytes = weight->panel_bytes,
                                       .n_panels = 2,
                                       .n_rows = 1,
                                       .n_columns = COLUMNS,
                                       .x = x,
                                       .x_stride = COLUMNS,
                                       .out = out };
        kernels.matmul[DTYPE_F8_E4M3](&tile);
        for (int o = 0; o < ROWS; o++)
            assert_int_equal(out[o] != out[o], o == BAD);
    }
    float row[COLUMNS];
    cpu_pack_row(weight, BAD, row);
    assert_true(row[127] == row[127] && row[128] != row[128]);
    cpu_pack_unbind(weight);
    mem_give(packed);
    mem_give(blocks);
    team_close(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nan_makes_its_row_nan_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
