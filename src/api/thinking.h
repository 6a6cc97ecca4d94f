/* Reasoning of an answer: whether it is wanted, and how many tokens it may take. */
#pragma once
#include "api/fields.h"

struct api_thinking {
    int32_t n_max;     /* tokens; -1: no bound */
    const char *field; /* that says so; NULL: none */
    bool is_off;       /* the client wants no reasoning */
    bool is_wish;      /* models without marks of reasoning may ignore the bound */
};
/* Reads the bound under all of its names, and whether reasoning is wanted. */
void api_thinking_read(struct api_thinking *thinking, const struct api_fields *fields);
