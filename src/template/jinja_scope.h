/* The pass between parsing and running: it gives each name its variable, and refuses what jinja2
 * refuses when it compiles. */
#pragma once
#include "template/jinja_node.h"

/* Resolves all names of a template; root gets its scope and the number of its variables. */
void jinja_scope_resolve(struct jinja_run *run, struct jinja_node *body, struct jinja_block *root);
