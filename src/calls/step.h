/* Declares what the steps of the parsers share. A step looks at the text from parser->at on. It
 * returns true when it moved on, and false when it needs more text. */
#pragma once
#include "calls/state.h"

enum calls_state {
    CALLS_TEXT,
    CALLS_REASONING,
    CALLS_SECTION, /* before the next call, or the end of the section */
    CALLS_TAIL,    /* behind the last call of a section without a bracket */
    CALLS_ITEM,    /* in a call's object: before a key */
    CALLS_AFTER,   /* in a call's object: behind a value */
    CALLS_SKIP,    /* in a value that is not needed */
    CALLS_LATE,    /* in arguments whose call has no name yet */
    CALLS_ARGS,    /* in arguments as JSON */
    CALLS_HEAD,    /* before a name */
    CALLS_LEAD,    /* between a name and its arguments */
    CALLS_CLOSE,   /* behind the arguments */
    CALLS_PARAM,   /* before a parameter in tags */
    CALLS_VALUE,   /* in its value */
    CALLS_KEYWORD, /* before a parameter in Python's form */
    CALLS_PYVALUE, /* in its value */
    CALLS_HEADER,  /* before a message's header */
    CALLS_BODY,    /* in a message's text, of the final or commentary channel */
    CALLS_THOUGHT, /* in a message's text, of the analysis channel */
};
struct calls_input {
    struct view text;
    bool is_end;
    const struct calls_sink *sink;
};
enum calls_match { CALLS_NO, CALLS_YES, CALLS_MAYBE };

/* Compares the text at a position with a mark (NULL matches nothing). MAYBE: the text ends inside
 * of it. */
enum calls_match calls_step_match(const struct calls_input *in, size_t at, const char *mark);
bool calls_step_is_white(char c);
size_t calls_step_blank(const struct calls_input *in, size_t at); /* behind white space */
/* Finds the end of the text before a mark, from `from` on. *end is where the mark is, or may begin.
 * Returns NO when there is none. */
enum calls_match calls_step_find(const struct calls_input *in, size_t from, const char *mark,
                                 size_t *end);
void calls_step_emit(const struct calls_input *in, enum calls_event event, size_t from, size_t to);
void calls_step_emit_text(const struct calls_input *in, enum calls_event event, const char *text);
/* Emits the next bytes of a value and moves *at behind them. Control characters inside of strings
 * are escaped. */
enum calls_json_end calls_step_take_json(struct calls_json *json, const struct calls_input *in,
                                         size_t *at);
/* Emits a complete value in the same way. */
void calls_step_emit_json(const struct calls_input *in, size_t from, size_t to);
/* Emits text as the inside of a JSON string. */
void calls_step_emit_escaped(const struct calls_input *in, size_t from, size_t to);
/* Text and reasoning lose white space next to marks. `to` follows a byte that is not white, or is
 * where a mark begins. */
void calls_step_emit_words(struct calls_parser *p, const struct calls_input *in,
                           enum calls_event event, size_t to);

void calls_step_begin(struct calls_parser *p, size_t at); /* a call begins here */
/* Sets the name. Returns false when the request does not offer it. */
bool calls_step_name(struct calls_parser *p, const struct calls_input *in, size_t at, size_t n);
void calls_step_tell(struct calls_parser *p, const struct calls_input *in); /* the call's name */
void calls_step_over(struct calls_parser *p, const struct calls_input *in); /* it is complete */
/* The bytes from parser->at on do not fit the format. A call that is not complete becomes text.
 * Returns true. */
bool calls_step_break(struct calls_parser *p);
