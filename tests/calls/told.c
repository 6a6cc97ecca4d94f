/* Writes down what a parser tells. */
#include "told.h"
#include "test.h"

static const char tools_json[] =
    "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"s\":{\"type\":\"string\"},"
    "\"n\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"},\"o\":{\"type\":\"object\"},"
    "\"z\":{\"type\":[\"string\",\"null\"]}}}},{\"name\":\"get.it\"}]";

static void close_kind(struct told *told)
{
    if (told->kind == 'C')
        str_add_text(&told->calls, "\x1d");
    if (told->kind != 0)
        str_add_text(&told->out, told->kind == 'C' ? " ?)" : ")");
    told->kind = 0;
}

static void take(void *self, enum calls_event event, struct view bytes)
{
    static const char kinds[] = { 'T', 'R', 'C', 'C', 'C' };
    struct told *told = self;
    if (event == CALLS_EVENT_CALL || kinds[event] != told->kind) {
        if (event != CALLS_EVENT_END && event != CALLS_EVENT_ARGUMENTS) {
            close_kind(told);
            told->kind = kinds[event];
            str_printf(&told->out, "%c(", told->kind);
        }
    }
    if (event == CALLS_EVENT_CALL) {
        told->n_calls++;
        str_add_text(&told->calls, "\x1e");
    }
    str_add(&told->out, bytes.at, bytes.n);
    str_add_text(&told->out, event == CALLS_EVENT_CALL ? " " : "");
    struct str *to = event == CALLS_EVENT_TEXT        ? &told->text
                     : event == CALLS_EVENT_REASONING ? &told->reasoning
                                                      : &told->calls;
    str_add(to, bytes.at, bytes.n);
    str_add_text(to, event == CALLS_EVENT_CALL ? "\x1f" : "");
    if (event == CALLS_EVENT_END) {
        str_add_text(&told->out, ")");
        told->kind = 0;
    }
}

void told_free(struct told *told)
{
    str_free(&told->out);
    str_free(&told->text);
    str_free(&told->reasoning);
    str_free(&told->calls);
}

/* The text moves with each piece, as one that grows does. */
void told_run(struct told *told, struct calls_parser *parser, const char *text, size_t n_each,
              bool is_ended)
{
    struct calls_sink sink = { told, take };
    size_t n = strlen(text);
    *told = (struct told){ 0 };
    for (size_t i = n_each; i < n + n_each && n_each < n; i += n_each) {
        struct view piece = view_of(text, i < n ? i : n);
        char *copy = malloc(piece.n + 1);
        memcpy(copy, text, piece.n);
        calls_parser_go(parser, view_of(copy, piece.n), false, &sink);
        free(copy);
    }
    calls_parser_go(parser, view_of(text, n), is_ended, &sink);
    close_kind(told);
    str_add(&told->out, "", 0);
    str_add(&told->text, "", 0);
    str_add(&told->reasoning, "", 0);
    str_add(&told->calls, "", 0);
}

void told_tools(struct calls_tools *tools, struct pile *pile, const json_t *array)
{
    tools->n = (int32_t)json_array_size(array);
    tools->of = pile_take(pile, sizeof(*tools->of) * (size_t)tools->n);
    for (int32_t i = 0; i < tools->n; i++) {
        const json_t *tool = json_array_get(array, (size_t)i);
        const json_t *function = json_object_get(tool, "function");
        tool = function != NULL ? function : tool;
        const char *name = json_string_value(json_object_get(tool, "name"));
        tools->of[i].name = view_of(pile_text(pile, name, strlen(name)), strlen(name));
        calls_tools_read(&tools->of[i], json_object_get(tool, "parameters"), pile);
    }
}

void told_assert(const char *format, const char *text, const char *expected)
{
    struct pile pile;
    struct calls_tools tools;
    pile_init(&pile);
    json_t *array = json_loads(tools_json, 0, NULL);
    told_tools(&tools, &pile, array);
    json_decref(array);
    struct calls_style style = { calls_format_find(format), "<think>", "</think>" };
    assert_non_null(style.format);
    for (size_t n_each = 1; n_each <= strlen(text) + 1; n_each++) {
        struct calls_parser parser;
        struct told told;
        calls_parser_init(&parser, &style, &tools, false);
        told_run(&told, &parser, text, n_each, true);
        assert_string_equal(told.out.at, expected);
        told_free(&told);
    }
    pile_free(&pile);
}
