/* Running a template. */
#pragma once
#include "template/jinja_node.h"

/* Runs a whole template. root describes its variables. */
void jinja_exec_template(struct jinja_run *run, const struct jinja_node *body,
                         const struct jinja_block *root);
