/* Runs another program and reads what it prints. */
#pragma once
#include "base/status.h"
#include "base/str.h"

/* Waits for argv (NULL at its end; argv[0] is found along PATH) and adds what it prints to `out`,
 * and what it says on standard error to `errors`, which may be NULL.
 * After timeout_ns it is killed: STATUS_CANCELLED. STATUS_IO when it can't be started or ends
 * otherwise than with code 0: the sentence holds the last line of what it said on standard error.
 */
enum status roofline_child_run(const char *const *argv, int64_t timeout_ns, struct str *out,
                               struct str *errors, struct fault *fault) MUST_USE;
