/* Runs another program and reads what it prints. */
#pragma once
#include "base/status.h"
#include "base/str.h"

/* Runs argv (NULL at its end; argv[0] is found along PATH) and waits for it. Adds its output to
 * `out`, and its standard error to `errors`, which may be NULL. After timeout_ns it is killed:
 * STATUS_CANCELLED. Returns STATUS_IO when it can't be started or its exit code is not 0; the
 * sentence has the last line of its standard error. */
enum status roofline_child_run(const char *const *argv, int64_t timeout_ns, struct str *out,
                               struct str *errors, struct fault *fault) MUST_USE;
