/* Prometheus text: names, labels, and the reports of engines. */
#pragma once
#include "core/report.h"
#include "base/str.h"

void metrics_print_name(struct str *out, const char *name, const char *help, const char *type);
/* before is '{' or ','. The value is escaped. */
void metrics_print_label(struct str *out, char before, const char *label, const char *value);
/* names: (n_services) an empty name is not shown. */
void metrics_print_engines(const struct engine_report *engines, int n_engines, int n_services,
                           const char (*names)[LIMIT_NAME_BYTES], struct str *out);
