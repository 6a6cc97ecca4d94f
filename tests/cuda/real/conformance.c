/* The tests of tests/cuda on a real GPU, in one program: conformance NAME. */
#include "vectors.h"

#include "cuda/driver.h"
#include <stdio.h>
#include <string.h>

int attend_main(void);
int device_main(void);
int draw_main(void);
int driver_main(void);
int golden_main(void);
int graphs_main(void);
int heads_main(void);
int matrix_main(void);
int mix_main(void);
int pass_main(void);
int rows_main(void);

static const struct {
    const char *name;
    int (*run)(void);
} tests[] = {
    { "rows", rows_main },     { "heads", heads_main },   { "matrix", matrix_main },
    { "attend", attend_main }, { "draw", draw_main },     { "driver", driver_main },
    { "device", device_main }, { "pass", pass_main },     { "golden", golden_main },
    { "mix", mix_main },       { "graphs", graphs_main },
};

/* Writes a register dump that bears the GPU's name. */
static int write_vectors(const char *path)
{
    struct cuda_driver *driver;
    struct fault fault;
    if (cuda_driver_open(0, &driver, &fault) != STATUS_OK) {
        fprintf(stderr, "%s\n", fault.text);
        return 1;
    }
    cuda_driver_enter(driver);
    bool is_written = vectors_write(path, cuda_driver_describe(driver)->name);
    cuda_driver_close(driver);
    return is_written ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "vectors") == 0)
        return write_vectors(argv[2]);
    for (size_t i = 0; i < COUNT_OF(tests) && argc == 2; i++)
        if (strcmp(tests[i].name, argv[1]) == 0)
            return tests[i].run();
    fprintf(stderr, "usage: conformance NAME | vectors FILE\nnames:");
    for (size_t i = 0; i < COUNT_OF(tests); i++)
        fprintf(stderr, " %s", tests[i].name);
    fprintf(stderr, "\n");
    return 2;
}
