/* Defines what a parser tells, and what it keeps between two pieces of text. */
#pragma once
#include "calls/format.h"
#include "calls/json.h"
#include "calls/tools.h"

enum calls_event {
    CALLS_EVENT_TEXT,
    CALLS_EVENT_REASONING,
    CALLS_EVENT_CALL,      /* the bytes are the name of the function */
    CALLS_EVENT_ARGUMENTS, /* a piece of the JSON text of the call's arguments */
    CALLS_EVENT_END,       /* the call is complete; without bytes */
};
struct calls_sink {
    void *self;
    void (*take)(void *self, enum calls_event event, struct view bytes);
};
struct calls_parser { /* private, except three; calls_parser_init sets it, and it needs no free */
    struct calls_style style;
    const struct calls_tools *tools; /* NULL: calls are not looked for */
    int32_t n_calls;                 /* that were told */
    int32_t n_whole;                 /* of them, those with complete arguments */
    bool keeps_space;                /* white space around the text is part of it */
    uint8_t state, n_nested;
    bool in_array, has_text, has_thought;
    bool is_told, is_over;         /* the call under way: its name, its arguments were told */
    bool has_calls;                /* the section has had a call */
    bool has_param, is_text_value; /* of a call in tags */
    size_t at;                     /* everything before it was told, or is no output */
    size_t start;                  /* of the call under way, or of its section */
    size_t plain_to;               /* bytes before it are text, whatever they are */
    size_t scanned;                /* no mark begins before it */
    size_t name_at, name_n;        /* the call's name; 0 bytes: it is not known yet */
    size_t args_at, args_n;        /* arguments that came before the name */
    size_t key_at, key_n;          /* the parameter under way */
    const struct calls_tool *tool; /* NULL: not known, or any tool may be called */
    struct calls_json json;
    struct {           /* of a value in Python's form */
        uint8_t quote; /* 0: outside of strings */
        bool wants_comma;
    } python;
};
