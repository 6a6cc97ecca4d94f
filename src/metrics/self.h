/* Prometheus's standard figures of a process: its memory, its time, its open files. */
#pragma once
#include "base/str.h"

/* Of this process. What the kernel does not tell is left out. */
void metrics_self_print(struct str *out);
