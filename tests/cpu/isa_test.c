/* Choosing an instruction set: the environment can limit it, and tables are complete. */
#include "test.h"

#include "cpu/kernels.h"

static void the_environment_holds_it_down(void **state)
{
    (void)state;
    const char *was = getenv("SHOAL_CPU_ISA");
    char *kept = was != NULL ? strdup(was) : NULL;
    unsetenv("SHOAL_CPU_ISA");
    enum cpu_isa best = cpu_isa_best();
    setenv("SHOAL_CPU_ISA", "generic", 1);
    assert_int_equal(cpu_isa_best(), CPU_ISA_GENERIC);
    for (int isa = 0; isa < CPU_ISA_N; isa++) { /* never up */
        setenv("SHOAL_CPU_ISA", cpu_isa_name((enum cpu_isa)isa), 1);
        assert_int_equal(cpu_isa_best(), isa < (int)best ? isa : (int)best);
    }
    setenv("SHOAL_CPU_ISA", "nonsense", 1);
    assert_int_equal(cpu_isa_best(), best);
    if (kept != NULL)
        setenv("SHOAL_CPU_ISA", kept, 1);
    else
        unsetenv("SHOAL_CPU_ISA");
    free(kept);
}

static void tables_have_no_holes(void **state)
{
    (void)state;
    for (int isa = 0; isa < CPU_ISA_N; isa++) {
        struct cpu_kernels kernels;
        cpu_isa_kernels((enum cpu_isa)isa, &kernels);
        if (isa <= (int)cpu_isa_best()) /* a compiler may not know the highest */
            assert_true(strstr(kernels.name, cpu_isa_name((enum cpu_isa)isa)) != NULL);
        for (int dtype = 0; dtype < DTYPE_N; dtype++)
            assert_non_null(kernels.matmul[dtype]);
        const void *first = &kernels.quantize, *end = &kernels + 1;
        for (void *const *p = first; (const void *)p < end; p++)
            assert_non_null(*p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_holds_it_down),
        cmocka_unit_test(tables_have_no_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
