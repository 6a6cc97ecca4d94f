/* Cutting a template into text, tags and their tokens. */
#pragma once
#include "text/jinja.h"

enum jinja_tag {
    JINJA_TAG_END,
    JINJA_TAG_PRINT,
    JINJA_TAG_BLOCK,
    JINJA_TAG_COMMENT,
    JINJA_TAG_RAW
};
enum jinja_token_kind {
    JINJA_TOKEN_END, /* of the tag */
    JINJA_TOKEN_NAME,
    JINJA_TOKEN_STRING, /* text: without quotes and escapes */
    JINJA_TOKEN_INT,
    JINJA_TOKEN_FLOAT,
    JINJA_TOKEN_OP,
};
struct jinja_token {
    enum jinja_token_kind kind;
    struct view text;
    int64_t integer;
    double real;
};
struct jinja_lex {
    struct view source;
    size_t at;
    int32_t line;
    bool line_starting; /* a newline ended the last tag, or nothing came yet */
    int n_open;         /* brackets open in this tag */
    enum jinja_tag tag;
    struct jinja_token token; /* the one to look at */
    struct jinja_run *run;    /* for memory and failure */
};
/* source without carriage returns and its last newline: jinja_lex_clean. */
void jinja_lex_init(struct jinja_lex *lex, struct view source, struct jinja_run *run);
struct view jinja_lex_clean(struct jinja_run *run, struct view source);
/* Reads text up to the next tag and enters the tag: its first token is in lex->token. */
enum jinja_tag jinja_lex_text(struct jinja_lex *lex, struct view *text);
void jinja_lex_next(struct jinja_lex *lex);
/* The token is a name with a single "=" behind it. */
bool jinja_lex_is_keyword(const struct jinja_lex *lex);
