/* shoal ps, ls, load, unload: requests to a running server. */
#include "remote/models.h"

#include "base/json_out.h"
#include "remote/call.h"
#include "report/ps_table.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

int remote_models_ps(int argc, char **argv)
{
    struct remote remote = { .config = NULL };
    struct str answer;
    if (!remote_call_parse(
            &remote,
            "Prints the models of a running server: memory in MiB, the model's part of the KV "
            "that all models hold and R, that part over its due (1 is fair); requests that run "
            "and wait. With --wide also activations, cached KV, and what was preempted, "
            "swapped, longer than predicted, padded and computed in vain.",
            REMOTE_TAKES_WIDE, argc, argv))
        return 2;
    json_t *root = remote_call_ask(&remote, "/models", NULL, &answer);
    if (root && remote.is_json)
        printf("%s\n", answer.at);
    else if (root)
        ps_table_print(root, remote.has_flag);
    bool ok = root != NULL;
    json_decref(root);
    str_free(&answer);
    return ok ? 0 : 1;
}

int remote_models_ls(int argc, char **argv)
{
    struct remote remote = { .config = NULL };
    struct str answer;
    size_t i;
    json_t *model;
    if (!remote_call_parse(&remote, "Prints the models that a running server knows.",
                           REMOTE_TAKES_NOTHING, argc, argv))
        return 2;
    json_t *root = remote_call_ask(&remote, "/models", NULL, &answer);
    if (root && remote.is_json) {
        printf("%s\n", answer.at);
    } else if (root) {
        printf("%-32s %-10s %s\n", "NAME", "STATUS", "PATH");
        json_array_foreach(json_object_get(root, "data"), i, model)
            printf("%-32s %-10s %s\n", text_at(model, "id"),
                   text_at(json_object_get(model, "status"), "value"), text_at(model, "path"));
    }
    bool ok = root != NULL;
    json_decref(root);
    str_free(&answer);
    return ok ? 0 : 1;
}

static int ask_model(const char *doc, const char *path, const char *done, int argc, char **argv)
{
    struct remote remote = { .config = NULL };
    struct str answer, body;
    struct json_out json;
    if (!remote_call_parse(&remote, doc, REMOTE_TAKES_NAME, argc, argv))
        return 2;
    str_init(&body);
    json_out_init(&json, &body);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", remote.words[0]);
    json_out_close(&json, '}');
    json_t *root = remote_call_ask(&remote, path, body.at, &answer);
    if (root)
        printf("%s%s\n", remote.is_json ? answer.at : remote.words[0], remote.is_json ? "" : done);
    bool ok = root != NULL;
    json_decref(root);
    str_free(&answer);
    str_free(&body);
    return ok ? 0 : 1;
}

int remote_models_load(int argc, char **argv)
{
    return ask_model("Brings a model into memory and waits until it is ready.", "/models/load",
                     ": is loaded", argc, argv);
}

int remote_models_unload(int argc, char **argv)
{
    return ask_model("Takes an idle model out of memory.", "/models/unload", ": is unloaded", argc,
                     argv);
}

int remote_models_sleep(int argc, char **argv)
{
    return ask_model("Puts an idle model to sleep: its memory is free, and its packed weights stay "
                     "in host memory (sleep_bytes).",
                     "/models/sleep", ": sleeps", argc, argv);
}

int remote_models_wake(int argc, char **argv)
{
    return ask_model("Wakes a model, or loads it, and waits until it is ready.", "/models/wake",
                     ": is awake", argc, argv);
}
