/* Builds the JSON body of a chat. Families that translate their requests into chats use it. */
#pragma once
#include "api/error.h"
#include <jansson.h>

/* Returns the member as text; NULL when it is absent or no text. */
const char *api_chat_json_text(const json_t *object, const char *name);
bool api_chat_json_is_type(const json_t *object, const char *type); /* its member "type" */
/* Returns whether a field asks for nothing: null, false or an empty array. */
bool api_chat_json_is_empty(const json_t *value);
json_t *api_chat_json_message(const char *role);
void api_chat_json_add_part(json_t *parts, const json_t *text); /* appends a text part */
/* Sets the content of a message: one text as such, several as parts, none as null. Takes the parts
 * over. */
void api_chat_json_set_content(json_t *message, json_t *parts);
/* Appends a function's call; arguments is JSON as text. */
void api_chat_json_add_call(json_t *calls, const char *id, const char *name, const char *arguments);
/* Appends a function that is offered; description and parameters may be NULL. */
void api_chat_json_add_tool(json_t *tools, json_t *name, json_t *description, json_t *parameters);
/* Makes the message of a tool's result. Takes the parts over; names has each call's function, and
 * id may be NULL. */
json_t *api_chat_json_result(const json_t *names, const char *id, json_t *parts);
json_t *api_chat_json_choice(json_t *name); /* tool_choice that names this function */
/* Copies fields from one body to another; each row has the name there and the name here. */
void api_chat_json_copy(const json_t *body, json_t *chat, const char *const (*names)[2], size_t n);
