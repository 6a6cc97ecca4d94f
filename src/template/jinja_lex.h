/* Cutting a template into text, tags and their tokens. */
#pragma once
#include "template/jinja_token.h"

enum jinja_lex_state { JINJA_LEX_TEXT, JINJA_LEX_PRINT, JINJA_LEX_BLOCK };
enum { JINJA_BRACKETS_MAX = 512 };
struct jinja_lex {
    struct view source;
    size_t at;
    int32_t line;
    bool line_starting; /* the last match ended with a newline, or there was none yet */
    enum jinja_lex_state state;
    bool has_pending; /* a begin token follows the text before it */
    struct jinja_token pending;
    int n_open; /* brackets open in this tag */
    char open[JINJA_BRACKETS_MAX];
    struct jinja_token token; /* the current one */
    struct jinja_run *run;    /* for memory and failure */
};
/* Copies the source with every line end as "\n" and without the last one. Then lex->token holds the
 * first token. */
void jinja_lex_init(struct jinja_lex *lex, struct view source, struct jinja_run *run);
void jinja_lex_next(struct jinja_lex *lex);
/* Returns the token behind lex->token. */
struct jinja_token jinja_lex_peek(struct jinja_lex *lex);
