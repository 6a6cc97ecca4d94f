/* OpenAI's chat and text completions, whole and in chunks.
 *
 * A text completion gets one event for each piece. A chat's choice begins with a chunk that carries
 * the role alone. It ends with a chunk that has an empty delta and the finish reason. The last
 * events of a stream are usage, when it was asked for, and [DONE]. */
#pragma once
#include "api/call_state.h"

extern const struct api_family api_reply_chats, api_reply_completions;

void api_reply_prefix(struct api_call *call); /* prepares the common beginning of all chunks */
const char *api_reply_model(const struct api_call *call); /* as the client named it */

struct api_reply_sums { /* of all n_choices of a call, or of one */
    int32_t n_choices;
    int64_t n_prompt, n_generated, n_cached, n_preempted, queue_ns, first_ns, last_ns;
};
struct api_reply_sums api_reply_sum_up(const struct api_call *call);
struct json_out;
/* Prints llama-server's object of times. A request that waited has the wait in none of them. */
void api_reply_print_timings(const struct api_call *call, const struct api_reply_sums *sums,
                             struct json_out *json);
