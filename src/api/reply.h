/* The shapes of answers: chat and text completions, whole and in chunks. */
#pragma once
#include "api/call_state.h"

void api_reply_prefix(struct api_call *call); /* prepares the common beginning of all chunks */
/* Appends what the choice can show now as server-sent events, or nothing. A text completion gets
 * one event a call. A chat's choice begins with a chunk that carries the role alone. It ends with a
 * chunk that has an empty delta and the finish reason. */
void api_reply_chunk(struct api_call *call, struct api_choice *choice, struct str *out);
/* Appends the last events of a stream: usage when it was asked for, and [DONE]. */
void api_reply_last(struct api_call *call, struct str *out);
/* Appends the whole answer. */
void api_reply_whole(struct api_call *call, struct str *out);
void api_reply_event(struct str *out, const struct str *json); /* "data: ...\n\n" */
