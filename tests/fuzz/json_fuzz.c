/* Fuzzes the bodies of completions and chats: the first byte chooses the kind, and whether to be
 * strict. */
#include "api/ask.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_ask(const struct api_ask *ask)
{
    CHECK(ask->n >= 1 && ask->n <= LIMIT_CHOICES && ask->n_stops <= LIMIT_STOP_TEXTS);
    for (int32_t i = 0; i < ask->n_stops; i++)
        CHECK(ask->stops[i].n > 0 && ask->stops[i].n <= LIMIT_STOP_BYTES);
    CHECK(ask->n_stop_ids <= LIMIT_STOP_IDS && ask->n_biases <= LIMIT_BIASES);
    CHECK(ask->sampling.temperature >= 0 && ask->sampling.temperature <= 2);
    CHECK(ask->sampling.top_p > 0 && ask->sampling.top_p <= 1);
    CHECK(ask->sampling.n_top_logprobs >= -1 && ask->sampling.n_top_logprobs <= LIMIT_TOP_LOGPROBS);
    CHECK(ask->kind == ASK_CHAT ? ask->n_messages > 0 : ask->n_prompts > 0);
    for (int32_t i = 0; i < ask->n_prompts; i++) {
        const struct api_ask_prompt *prompt = &ask->prompts[i];
        CHECK(prompt->ids != NULL ? prompt->n_ids > 0 : utf8_is_valid(prompt->text));
    }
    for (int32_t i = 0; i < ask->n_messages; i++)
        CHECK(utf8_is_valid(view_text(ask->messages[i].content)));
    for (int32_t i = 0; i < ask->n_stops; i++)
        CHECK(ask->stops[i].n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct api_ask ask;
    struct api_error error = { 0 };
    struct str page;
    if (n == 0)
        return 0;
    struct view body = view_of((const char *)bytes + 1, n - 1);
    enum api_ask_kind kind = (bytes[0] & 1) != 0 ? ASK_CHAT : ASK_COMPLETION;
    if (api_ask_parse(&ask, kind, body, (bytes[0] & 2) != 0, &error)) {
        check_ask(&ask);
        (void)api_ask_check(&ask, 100, &error);
    }
    api_ask_free(&ask);
    str_init(&page);
    if (error.is_set) {
        CHECK(error.text[0] != '\0' && error.status >= 400);
        api_error_print(&error, ERROR_OPENAI, &page);
        CHECK(utf8_is_valid(view_of(page.at, page.n)));
    }
    str_free(&page);
    return 0;
}
