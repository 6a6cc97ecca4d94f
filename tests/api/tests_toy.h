/* The toy text room and the fake house that tests of the API use. */
#pragma once
#include "core/control.h"
#include "core/service.h"
#include "text/tokenizer.h"

enum { TOY_BOS = 256, TOY_EOS = 257, TOY_N_TOKENS = 260 };

struct chat_template;
struct str;
extern const struct tokenizer *toy_tokenizer;
extern const struct chat_template *toy_template;

/* A service with answers that follow from the prompt (tests/e2e/toy.py computes the same in
 * Python), and a control with one engine. Words in the prompt steer it: [n=20] tokens until the end
 * token, [first=50] and [gap=5] in milliseconds, [fail] [late] [huge] [cold] [crash=3] [full=3]
 * [lose=3] [dup]. The text between the last [say] and [/say] is the answer. */
struct toy_house;
struct toy_house *toy_open(int n_services, int32_t n_requests_max);
void toy_close(struct toy_house *house);
struct service toy_service(struct toy_house *house);
struct control toy_control(struct toy_house *house);
int64_t toy_tick(void *house, int64_t now_ns);
/* Prints toy_live_requests, toy_cancelled_total, toy_prompt_tokens_total, toy_tokens_total. */
void toy_metrics(void *house, struct str *out);
