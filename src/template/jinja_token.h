/* A token of a template. */
#pragma once
#include "template/jinja.h"

enum jinja_token_kind {
    JINJA_TOKEN_END, /* of the template */
    JINJA_TOKEN_DATA,
    JINJA_TOKEN_PRINT_BEGIN,
    JINJA_TOKEN_PRINT_END,
    JINJA_TOKEN_BLOCK_BEGIN,
    JINJA_TOKEN_BLOCK_END,
    JINJA_TOKEN_NAME,
    JINJA_TOKEN_STRING, /* text: without quotes and escapes */
    JINJA_TOKEN_INT,
    JINJA_TOKEN_FLOAT,
    JINJA_TOKEN_OP,
};
struct jinja_token {
    enum jinja_token_kind kind;
    int32_t line;
    struct view text;
    int64_t integer;
    double real;
};
