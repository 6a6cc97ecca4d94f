/* shoal ps, ls, load, unload, sleep, wake: requests to a running server. */
#include "base/json_out.h"
#include "cmd/verbs.h"
#include "config/options.h"
#include "loadgen/client.h"
#include "report/ps_table.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct remote {
    struct client_options client;
    const char *name; /* the model, of verbs that take one */
    bool is_json, is_wide;
};
enum takes { TAKES_NOTHING, TAKES_NAME, TAKES_WIDE }; /* TAKES_WIDE: it has the option --wide */

/* Parses a remote verb's command line into remote. Returns false when it is wrong. */
static bool parse(struct remote *remote, const char *doc, enum takes takes, int argc, char **argv)
{
    const int n_plain_wanted = takes == TAKES_NAME ? 1 : 0;
    const char *insecure = NULL, *wide = NULL;
    const struct options_extra extras[] = {
        { "server",
          "address of the server, https://... if it speaks TLS: $SHOAL_LISTEN or 127.0.0.1:7411",
          &remote->client.server, true },
        { "key", "the key to show: $SHOAL_ADMIN_KEY, or $SHOAL_API_KEY", &remote->client.key,
          true },
        { "cacert", "trust the authorities of this PEM file, over https", &remote->client.cacert,
          true },
        { "insecure", "trust any certificate, over https", &insecure, false },
        { "wide", "all that is counted, in one wide table", &wide, false },
    };
    const struct options_verb verb = {
        .doc = doc,
        .arguments = takes == TAKES_NAME ? "NAME" : "",
        .is_json = &remote->is_json,
        .n_min = n_plain_wanted,
        .n_max = n_plain_wanted,
        .extras = extras,
        .n_extras = (int)COUNT_OF(extras) - (takes == TAKES_WIDE ? 0 : 1),
    };
    struct fault fault;
    int n_plain;
    const char *from_environment = getenv("SHOAL_LISTEN");
    const char *admin_key = getenv("SHOAL_ADMIN_KEY");
    *remote = (struct remote){ .client = {
                                   .server = from_environment ? from_environment : "127.0.0.1:7411",
                                   .key = admin_key ? admin_key : getenv("SHOAL_API_KEY") } };
    if (!config_options_parse(&verb, argc, argv, NULL, &remote->name, &n_plain))
        return false;
    remote->client.is_insecure = insecure != NULL;
    remote->is_wide = wide != NULL;
    if (client_check(&remote->client, &fault) == STATUS_OK)
        return true;
    fprintf(stderr, "shoal: %s\n", fault.text);
    return false;
}

/* Makes one call whose answer is a JSON object. Returns NULL, after printing the sentence, when it
 * failed. */
static json_t *call(const struct remote *remote, const char *path, const char *body,
                    struct str *answer)
{
    struct fault fault;
    int http_status;
    str_init(answer);
    if (client_call(&remote->client, path, body, &http_status, answer, &fault) != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
        return NULL;
    }
    json_t *root = json_loads(answer->at ? answer->at : "", 0, NULL);
    /* Without the admin key /models is OpenAI's list. */
    if (http_status == 200 && strcmp(path, "/models") == 0 && json_object_get(root, "object") &&
        !json_object_get(root, "engines")) {
        fprintf(stderr, "shoal: the server tells operators alone how its models are: the admin key "
                        "is needed (--key)\n");
        json_decref(root);
        return NULL;
    }
    if (http_status == 200 && root)
        return root;
    const char *message =
        json_string_value(json_object_get(json_object_get(root, "error"), "message"));
    fprintf(stderr, "shoal: %s\n",
            message ? message : "the server gave an answer that is not JSON");
    json_decref(root);
    return NULL;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

int verbs_ps(int argc, char **argv)
{
    struct remote remote;
    struct str answer;
    if (!parse(&remote,
               "Prints the models of a running server: memory in MiB, the model's part of the KV "
               "that all models hold and R, that part over its due (1 is fair); requests that run "
               "and wait. With --wide also activations, cached KV, and what was preempted, "
               "swapped, longer than predicted, padded and computed in vain.",
               TAKES_WIDE, argc, argv))
        return 2;
    json_t *root = call(&remote, "/models", NULL, &answer);
    if (root && remote.is_json)
        printf("%s\n", answer.at);
    else if (root)
        ps_table_print(root, remote.is_wide);
    bool ok = root != NULL;
    json_decref(root);
    str_free(&answer);
    return ok ? 0 : 1;
}

int verbs_ls(int argc, char **argv)
{
    struct remote remote;
    struct str answer;
    size_t i;
    json_t *model;
    if (!parse(&remote, "Prints the models that a running server knows.", TAKES_NOTHING, argc,
               argv))
        return 2;
    json_t *root = call(&remote, "/models", NULL, &answer);
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
    struct remote remote;
    struct str answer, body;
    struct json_out json;
    if (!parse(&remote, doc, TAKES_NAME, argc, argv))
        return 2;
    str_init(&body);
    json_out_init(&json, &body);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", remote.name);
    json_out_close(&json, '}');
    json_t *root = call(&remote, path, body.at, &answer);
    if (root)
        printf("%s%s\n", remote.is_json ? answer.at : remote.name, remote.is_json ? "" : done);
    bool ok = root != NULL;
    json_decref(root);
    str_free(&answer);
    str_free(&body);
    return ok ? 0 : 1;
}

int verbs_load(int argc, char **argv)
{
    return ask_model("Brings a model into memory and waits until it is ready.", "/models/load",
                     ": is loaded", argc, argv);
}

int verbs_unload(int argc, char **argv)
{
    return ask_model("Takes an idle model out of memory.", "/models/unload", ": is unloaded", argc,
                     argv);
}

int verbs_sleep(int argc, char **argv)
{
    return ask_model("Puts an idle model to sleep: its memory is free, and its packed weights stay "
                     "in host memory (sleep_bytes).",
                     "/models/sleep", ": sleeps", argc, argv);
}

int verbs_wake(int argc, char **argv)
{
    return ask_model("Wakes a model, or loads it, and waits until it is ready.", "/models/wake",
                     ": is awake", argc, argv);
}
