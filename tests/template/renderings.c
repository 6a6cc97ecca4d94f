/* Renders the templates of a file of JSON lines, for templates.py, which compares with Python's.
 *
 * usage: renderings FILE prints a line for each; renderings check FILE compares with "answer".
 *
 * Each line is {"template", "context", "time"?, "answer"?}; the context may have "messages", and it
 * reaches the template unchanged. The answer is a line: "ok", "error", "refused" or "bound" with
 * the text or the sentence, as JSON; only texts and the kinds of answers are compared. */
#include "base/json_out.h"
#include "template/chat_template.h"
#include "template/jinja_exec.h"
#include "template/jinja_json.h"
#include "template/jinja_parse.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_as_stored(const json_t *line, const char *answer)
{
    json_t *given = json_loads(answer, JSON_ALLOW_NUL, NULL);
    const json_t *stored = json_object_get(line, "answer");
    const char *kind = json_string_value(json_array_get(stored, 0));
    bool is_text = kind != NULL && strcmp(kind, "ok") == 0;
    bool is_equal = is_text ? json_equal(given, stored)
                            : json_equal(json_array_get(given, 0), json_array_get(stored, 0));
    if (!is_equal) {
        char *expected = json_dumps(stored, 0);
        printf("%s\n  got      %s\n  expected %s\n",
               json_string_value(json_object_get(line, "template")), answer, expected);
        free(expected);
    }
    json_decref(given);
    return is_equal;
}

int main(int argc, char **argv)
{
    bool checks = argc == 3 && strcmp(argv[1], "check") == 0;
    FILE *file = argc == 2 + checks ? fopen(argv[1 + checks], "r") : NULL;
    char *line = NULL;
    size_t capacity = 0;
    int n = 0, n_wrong = 0;
    if (file == NULL) {
        fprintf(stderr, "usage: renderings [check] FILE\n");
        return 2;
    }
    while (getline(&line, &capacity, file) > 0) {
        json_t *parsed = json_loads(line, JSON_ALLOW_NUL, NULL);
        struct str answer;
        str_init(&answer);
        render(parsed, &answer);
        n++;
        if (!checks)
            puts(answer.at);
        else
            n_wrong += !is_as_stored(parsed, answer.at);
        str_free(&answer);
        json_decref(parsed);
    }
    free(line);
    fclose(file);
    if (checks)
        printf("%d renderings, %d differ\n[%s] renderings\n", n, n_wrong,
               n_wrong == 0 && n > 0 ? "       OK " : "  FAILED  ");
    return n_wrong == 0 && n > 0 ? 0 : 1;
}
