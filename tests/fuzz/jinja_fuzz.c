/* Fuzzes chat templates: the template, then after a NUL the kwargs as JSON. Any input is rendered
 * within the bounds or refused with a sentence. */
#include "base/mem.h"
#include "template/chat.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const parts[] = { "Look:", " a <b> " };
    static const struct chat_message messages[] = {
        { .role = "system", .content = "Be <b>brief</b>." },
        { .role = "user", .content = " Hi \xF0\x9F\x98\x80, it's\n1 < 2? ", .name = "ann" },
        { .role = "assistant",
          .is_null = true,
          .more_json = "{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":"
                       "\"{\\\"a\\\":[1,2.5]}\"}}],\"reasoning_content\":\"why\"}" },
        { .role = "tool", .content = "9", .more_json = "{\"tool_call_id\":\"c\"}" },
        { .role = "user", .content = "Look: a <b> ", .parts = parts, .n_parts = 2 },
        { .role = "assistant", .content = "<think>\nno\n</think>\n\nYes." },
        { .role = "user", .content = "" },
    };
    char *text = mem_take(n + 2);
    if (n > 0)
        memcpy(text, data, n);
    size_t n_source = strlen(text);
    struct chat_options options = { .messages = messages,
                                    .n_messages = (int)(n % (COUNT_OF(messages) + 1)),
                                    .add_generation_prompt = n % 2 == 0,
                                    .kwargs_json = n_source < n ? text + n_source + 1 : NULL };
    const struct chat_source source = { text, "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\"}",
                                        "2026-01-31T09:05:07" };
    struct fault fault = { "" };
    struct chat_template *t = NULL;
    struct str out;
    str_init(&out);
    enum status status = chat_template_open(&t, &source, &fault);
    if (status == STATUS_OK)
        status = chat_template_render(t, &options, &out, &fault);
    CHECK(status == STATUS_OK || out.n == 0);
    CHECK(status == STATUS_OK || memchr(fault.text, '\0', sizeof(fault.text)) != NULL);
    chat_template_close(t);
    str_free(&out);
    mem_give(text);
    return 0;
}
