/* Checks that stop the program where it is wrong. */
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>

bool base_verify = false;

_Noreturn void base_check_failed(const char *file, int line, const char *cond)
{
    fprintf(stderr, "%s:%d: check failed: %s\n", file, line, cond);
    abort();
}
