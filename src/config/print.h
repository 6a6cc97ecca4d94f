/* Describes the configuration from its table, for editors and for people. */
#pragma once
#include "config/config.h"

void config_print_schema(struct str *out); /* JSON Schema of the file */
void config_print_keys(struct str *out);   /* Markdown tables of the keys */
