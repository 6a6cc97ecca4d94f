/* What every test file starts with: cmocka, and skips that say why (./dev test collects the reasons). */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Ends the running test as skipped; the reason must be on the list in tests/skips.txt. */
#define TEST_SKIP(reason)                                                                          \
    do {                                                                                           \
        printf("[  REASON  ] %s: %s\n", __func__, reason);                                         \
        fflush(stdout);                                                                            \
        skip();                                                                                    \
    } while (0)
