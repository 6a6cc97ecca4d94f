/* Fuzzes the parsers of models' answers. The first byte chooses the format, the second the size of
 * the pieces, the third whether the answer begins in reasoning and whether it is cut. Pieces must
 * give the same as the whole, and complete arguments must be JSON objects. */
#include "calls/parser.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct log {
    struct str text, arguments;
    int32_t n_calls;
    bool is_open;
};

static void take(void *self, enum calls_event event, struct view bytes)
{
    static const char *const marks[] = { "T", "R", "C", "A", "E" };
    struct log *log = self;
    CHECK((event != CALLS_EVENT_ARGUMENTS && event != CALLS_EVENT_END) || log->is_open);
    if (event == CALLS_EVENT_CALL) {
        log->n_calls++;
        str_clear(&log->arguments);
    }
    if (event == CALLS_EVENT_ARGUMENTS)
        str_add(&log->arguments, bytes.at, bytes.n);
    if (event == CALLS_EVENT_END)
        CHECK(calls_json_is_value(view_of(log->arguments.at, log->arguments.n)));
    log->is_open = event == CALLS_EVENT_CALL || event == CALLS_EVENT_ARGUMENTS;
    for (size_t i = 0; i < bytes.n; i++) { /* pieces of one kind are one */
        str_add_text(&log->text, marks[event]);
        str_add_char(&log->text, bytes.at[i]);
    }
}

static void run(struct log *log, struct calls_parser parser, struct view text, size_t n_each)
{
    struct calls_sink sink = { log, take };
    *log = (struct log){ 0 };
    for (size_t i = n_each; i < text.n; i += n_each)
        calls_parser_go(&parser, view_of(text.at, i), false, &sink);
    calls_parser_go(&parser, text, true, &sink);
    CHECK(parser.n_calls == log->n_calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct calls_param params[] = { { { "s", 1 }, CALLS_TYPE_TEXT },
                                           { { "n", 1 }, CALLS_TYPE_NUMBER } };
    static struct calls_tool tool = { { "f", 1 }, COUNT_OF(params), params };
    static const struct calls_tools tools = { 1, &tool };
    size_t n_formats = 0;
    if (n < 3)
        return 0;
    while (calls_format_at(n_formats) != NULL)
        n_formats++;
    const struct calls_format *format = calls_format_at(bytes[0] % n_formats);
    struct calls_style style = { format, "<think>", "</think>" };
    struct calls_parser parser;
    struct log whole, pieces;
    struct view text = view_of((const char *)bytes + 3, n - 3);
    calls_parser_init(&parser, &style, (bytes[2] & 2) != 0 ? NULL : &tools, (bytes[2] & 1) != 0);
    run(&whole, parser, text, text.n + 1);
    run(&pieces, parser, text, 1 + bytes[1] % 16);
    CHECK(whole.text.n == pieces.text.n);
    CHECK(whole.text.n == 0 || memcmp(whole.text.at, pieces.text.at, whole.text.n) == 0);
    CHECK((bytes[2] & 2) == 0 || whole.n_calls == 0);
    str_free(&whole.text);
    str_free(&whole.arguments);
    str_free(&pieces.text);
    str_free(&pieces.arguments);
    return 0;
}
