/* How models write calls of tools and their reasoning: a row per format, found by the texts that
 * the model's chat template shows. */
#pragma once
#include "base/str.h"

enum calls_kind {
    CALLS_OBJECT,  /* {"name": ..., "arguments": {...}}, alone or in an array */
    CALLS_NAMED,   /* a name, a mark, and the arguments as JSON */
    CALLS_TAGS,    /* a name, then each parameter between two marks */
    CALLS_PYTHON,  /* [name(key=value), ...] */
    CALLS_HARMONY, /* messages with channels, as gpt-oss writes them */
};
/* How a section of calls is written, as constrained decoding needs it: literal text with signs.
 *   \1 white space, perhaps      \2 stands before a mark       \3 the name of the function
 *   \4 its arguments as JSON     \5 one to three digits        \6 nine letters or digits */
#define CALLS_NAME_SIGN "\3"
#define CALLS_ARGS_SIGN "\4"
struct calls_written {
    const char *trigger; /* what begins a section; NULL: calls of this format are not constrained */
    const char *before, *call, *between, *after;
    bool is_single; /* a section has one call */
};
struct calls_format {
    const char *name;
    enum calls_kind kind;
    const char *shown[3]; /* the template contains all of these */
    const char *open;     /* begins the calls; NULL: they have no mark */
    const char *open_too; /* another one; NULL: none */
    const char *close;    /* ends the calls; NULL: no mark does */
    const char *close_too;
    bool is_bare;   /* calls may also begin without a mark, at the start of the answer */
    bool is_short;  /* CALLS_OBJECT: {NAME: {...}} */
    bool is_headed; /* CALLS_NAMED: the answer begins inside of a head */
    /* CALLS_NAMED and CALLS_TAGS */
    const char *call_open;  /* before each name; NULL: `open` is it */
    const char *name_end;   /* behind the name; NULL: a line end or '<', which stays */
    const char *args_open;  /* CALLS_NAMED: before the arguments, behind other marks; may be NULL */
    const char *call_close; /* behind each call; NULL: nothing */
    /* CALLS_TAGS */
    const char *param_open, *param_end; /* around the name of a parameter */
    const char *value_open;             /* NULL: the value follows at once */
    const char *value_close;
    bool is_typed;  /* behind param_end comes true or false, for text or JSON, then "> */
    bool has_lines; /* a value stands on lines of its own: one line end on each side is not its */
    struct calls_written written;
    const char *noise[2]; /* marks around plain answers, which are not shown */
};
struct calls_style { /* how one model writes */
    const struct calls_format *format;
    const char *think_open, *think_close; /* NULL: its template shows no reasoning */
};
/* Returns the style that a template shows. A template without any known form gets the generic one:
 * JSON objects, alone or in a fence. NULL as template counts as such. */
struct calls_style calls_format_style(const char *template_text);
/* Finds a row by its name. NULL: there is none. */
const struct calls_format *calls_format_find(const char *name);
/* Returns rows one after the other; NULL behind the last. For tests and documents. */
const struct calls_format *calls_format_at(size_t index);
