/* Reads lines of JSON {format, think_open, think_close, tools, text, starts_in_reasoning} and
 * prints what the parser tells: {before: {...}, after: {...}, is_same}. before: without the end of
 * the stream. is_same: pieces of 1, 2, 3, 5, 7 and 64 bytes give the same. For
 * tests/calls/vectors.py. */
#include "base/json_out.h"
#include "told.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(struct json_out *json, const char *key, const struct told *told)
{
    json_out_key(json, key);
    json_out_open(json, '{');
    json_out_key_text(json, "text", told->text.at);
    json_out_key_text(json, "reasoning", told->reasoning.at);
    json_out_key_text(json, "calls", told->calls.at);
    json_out_close(json, '}');
}

static void run(const json_t *row, const struct calls_tools *tools, struct str *out)
{
    static const size_t sizes[] = { 1, 2, 3, 5, 7, 64, TOLD_WHOLE };
    const char *text = json_string_value(json_object_get(row, "text"));
    struct calls_style style = {
        calls_format_find(json_string_value(json_object_get(row, "format"))),
        json_string_value(json_object_get(row, "think_open")),
        json_string_value(json_object_get(row, "think_close")),
    };
    bool starts = json_is_true(json_object_get(row, "starts_in_reasoning")), is_same = true;
    struct told before, after, again;
    struct calls_parser parser;
    calls_parser_init(&parser, &style, tools, starts);
    told_run(&before, &parser, text, TOLD_WHOLE, false);
    calls_parser_init(&parser, &style, tools, starts);
    told_run(&after, &parser, text, TOLD_WHOLE, true);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        calls_parser_init(&parser, &style, tools, starts);
        told_run(&again, &parser, text, sizes[i], true);
        is_same = is_same && strcmp(again.out.at, after.out.at) == 0;
        told_free(&again);
    }
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    print(&json, "before", &before);
    print(&json, "after", &after);
    json_out_key_bool(&json, "is_same", is_same);
    json_out_close(&json, '}');
    told_free(&before);
    told_free(&after);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    while ((n = getline(&line, &capacity, stdin)) > 0) {
        json_t *row = json_loadb(line, (size_t)n, 0, NULL);
        struct calls_tools tools;
        struct pile pile;
        struct str out;
        pile_init(&pile);
        str_init(&out);
        told_tools(&tools, &pile, json_object_get(row, "tools"));
        run(row, &tools, &out);
        puts(out.at);
        str_free(&out);
        pile_free(&pile);
        json_decref(row);
    }
    free(line);
    return 0;
}
