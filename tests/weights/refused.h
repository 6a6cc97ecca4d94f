/* The form of a refusal: the status, and a sentence that names the place. */
#pragma once
#include "test.h"
#include "base/status.h"

static inline void assert_refused(enum status found, enum status expected,
                                  const struct fault *fault, const char *words)
{
    if (found != expected || strstr(fault->text, words) == NULL)
        print_error("%s: \"%s\", expected %s with \"%s\"\n", status_name(found), fault->text,
                    status_name(expected), words);
    assert_int_equal(found, expected);
    assert_non_null(strstr(fault->text, words));
}
