/* Prometheus's standard figures of a process: its memory, its time, its open files. */
#pragma once
#include "base/str.h"

/* Prints the figures of this process. Figures that the kernel does not report are left out. */
void metrics_self_print(struct str *out);
