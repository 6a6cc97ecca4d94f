/* Ends the program on a failed check (a bug), and when the system lacks something that we need. */
#include "base/base.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool base_verify = false;

_Noreturn void base_check_failed(const char *file, int line, const char *cond)
{
    fprintf(stderr, "%s:%d: check failed: %s\n", file, line, cond);
    abort();
}

/* This asks for no memory and runs nothing at exit, because other threads may be anywhere. */
_Noreturn void base_refuse(const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fprintf(stderr, "shoal: %s\n", text);
    _exit(1);
}
