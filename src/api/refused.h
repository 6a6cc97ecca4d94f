/* Known fields that are not supported: those that would change the answer are refused by name. */
#pragma once
#include "api/fields.h"

/* Sets the error for the first such field. A value without effect (null, false, an empty list, the
 * neutral number) is accepted. When strict, unknown names are errors too. */
void api_refused_check(const struct api_fields *fields, bool is_chat, bool is_strict);
/* Returns whether the name is a field of completions or chats, supported or not. */
bool api_refused_is_known(const char *name);
