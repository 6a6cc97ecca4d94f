/* Fuzzes chat templates: the template, then after a NUL the kwargs as JSON. Whatever comes is
 * rendered within the bounds or refused by a sentence. */
#include "text/chat.h"
#include "base/mem.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct chat_message messages[] = {
        { "system", "Be <b>brief</b>.", NULL },
        { "user", " Hi \xF0\x9F\x98\x80, it's\n1 < 2? ", "ann" },
        { "assistant", "<think>\nno\n</think>\n\nYes.", NULL },
        { "user", "", NULL },
    };
    char *text = mem_take(n + 2);
    if (n > 0)
        memcpy(text, data, n);
    size_t n_source = strlen(text);
    struct chat_options options = { .messages = messages,
                                    .n_messages = (int)(n % 5),
                                    .add_generation_prompt = n % 2 == 0,
                                    .bos_token = "<s>",
                                    .eos_token = "</s>",
                                    .kwargs_json = n_source < n ? text + n_source + 1 : NULL };
    struct fault fault = { "" };
    struct chat_template *t = NULL;
    struct str out;
    str_init(&out);
    enum status status = chat_template_open(&t, text, &fault);
    if (status == STATUS_OK)
        status = chat_template_render(t, &options, &out, &fault);
    CHECK(status == STATUS_OK || out.n == 0);
    CHECK(status == STATUS_OK || memchr(fault.text, '\0', sizeof(fault.text)) != NULL);
    chat_template_close(t);
    str_free(&out);
    mem_give(text);
    return 0;
}
