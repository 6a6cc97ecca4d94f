/* Shows tools to a model whose template knows none: as text of messages.
 *
 * The functions and the form of calls stand in the system message. Calls in earlier answers become
 * text in the same form, and results become messages of the user. Messages of the same role behind
 * each other are joined, since many templates require that user and assistant alternate. */
#pragma once
#include "base/pile.h"
#include "template/chat.h"

/* Sets the messages of *to, which live in the pile. in_system false: the text stands before the
 * first message of the user, for templates that take no system message. */
void chat_tools_show(const struct chat_options *options, bool in_system, struct pile *pile,
                     struct chat_options *to);
