/* Renders the templates of a file of JSON lines, for templates.py, which compares with Python's.
 *
 * Each line is {"template", "context", "time"?}; the context may have "messages", and all of it
 * reaches the template as it is. The answer is a line: "ok", "error", "refused" or "bound" with the
 * text or the sentence, as JSON. */
#include "text/chat_template.h"
#include "text/jinja_exec.h"
#include "text/jinja_json.h"
#include "text/jinja_parse.h"
#include "base/json_out.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static const char *name_of(enum status status)
{
    return status == STATUS_OK            ? "ok"
           : status == STATUS_UNSUPPORTED ? "refused"
           : status == STATUS_TOO_LARGE   ? "bound"
                                          : "error";
}

static void render(const json_t *line, struct str *answer)
{
    struct jinja_run parse = { .line = 1, .steps_max = JINJA_STEPS_MAX };
    struct jinja_block root;
    const json_t *source = json_object_get(line, "template");
    struct view text = view_of(json_string_value(source), json_string_length(source));
    struct jinja_node *body = jinja_parse_source(&parse, text, &root);
    struct str out;
    str_init(&out);
    struct jinja_run run = { .out = &out,
                             .line = 1,
                             .steps_max = JINJA_STEPS_MAX,
                             .time = json_string_value(json_object_get(line, "time")) };
    run.status = parse.status;
    run.fault = parse.fault;
    struct jinja_value context =
        jinja_json_value(&run, json_object_get(line, "context"), "the context");
    if (!jinja_failed(&run)) {
        run.context = context.dict;
        jinja_exec_template(&run, body, &root);
    }
    struct json_out json;
    json_out_init(&json, answer);
    json_out_open(&json, '[');
    json_out_text(&json, name_of(run.status));
    if (run.status == STATUS_OK)
        json_out_view(&json, view_of(out.at == NULL ? "" : out.at, out.n));
    else
        json_out_text(&json, run.fault.text);
    json_out_close(&json, ']');
    str_free(&out);
    pile_free(&run.pile);
    pile_free(&parse.pile);
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    char *line = NULL;
    size_t capacity = 0;
    if (file == NULL) {
        fprintf(stderr, "usage: renderings FILE\n");
        return 2;
    }
    while (getline(&line, &capacity, file) > 0) {
        json_t *parsed = json_loads(line, JSON_ALLOW_NUL, NULL);
        struct str answer;
        str_init(&answer);
        render(parsed, &answer);
        puts(answer.at);
        str_free(&answer);
        json_decref(parsed);
    }
    free(line);
    fclose(file);
    return 0;
}
