/* Tells what a choice can show of its text, in order: plain text, reasoning, and calls of tools. */
#pragma once
#include "api/call_state.h"

enum { TOLD_ID_BYTES = 10 };
struct api_told_item {
    enum { TOLD_TEXT, TOLD_REASONING, TOLD_CALL } kind;
    bool begins;      /* a call: its name is here */
    bool ends;        /* a call: its arguments are complete */
    int32_t index;    /* of a call */
    struct view name; /* of a call that begins; it lies in the choice's text */
    struct str bytes; /* text, or a piece of the arguments */
};
struct api_told {
    struct view
        plain; /* of a choice that is not parsed: all that it shows; then there are no items */
    struct api_told_item *items;
    size_t n, n_max;
    int32_t n_calls; /* of the choice, so far */
    bool is_serial, hides_thoughts;
};
/* Goes on to what can be shown now and was not shown before. in_items: plain text becomes an item
 * too. The caller frees it. */
void api_told_open(struct api_told *told, struct api_call *call, struct api_choice *choice,
                   bool in_items);
/* Tells all that the choice has shown, from its beginning, and changes nothing. */
void api_told_again(struct api_told *told, struct api_call *call, struct api_choice *choice);
bool api_told_is_empty(const struct api_told *told);
void api_told_free(struct api_told *told);
/* Appends the bytes of all items of a kind. */
void api_told_join(const struct api_told *told, int kind, struct str *out);
/* Writes the id of a call: nine letters and digits, since Mistral's templates accept no others. */
void api_told_id(const struct api_choice *choice, int32_t index, char out[TOLD_ID_BYTES]);
