/* Known fields that are not supported: those that would change the answer are refused by name. */
#pragma once
#include "api/fields.h"

/* Values without effect, besides null, as a JSON array. */
#define API_REFUSED_NEVER "[]"
#define API_REFUSED_EMPTY "[false, \"\", [], {}]"

struct api_refused {
    const char *name;
    const char *neutral; /* the values without effect */
    const char *why;     /* NULL: simply not supported */
};
/* Sets the error for the first field of n rows whose value has an effect. */
void api_refused_refuse(const struct api_fields *fields, const struct api_refused *rows, size_t n);
/* The same for all fields of completions or chats. A value without effect (null, false, an empty
 * list, the neutral number) is accepted. When strict, unknown names are errors too. */
void api_refused_check(const struct api_fields *fields, bool is_chat, bool is_strict);
/* Returns whether the name is a field of completions or chats, supported or not. */
bool api_refused_is_known(const char *name);
