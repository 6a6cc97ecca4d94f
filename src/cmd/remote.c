/* shoal ps, ls, load, unload: asks of a running server. */
#include "base/json_out.h"
#include "cmd/client.h"
#include "cmd/options.h"
#include "cmd/verbs.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct remote {
    const char *server, *key;
    const char *name; /* the model, of verbs that take one */
    bool is_json;
};

/* Parses a remote verb's command line into remote, with a NAME if the verb takes one; false when
 * it is wrong. */
static bool parse(struct remote *remote, const char *doc, bool takes_name, int argc, char **argv)
{
    const int n_plain_wanted = takes_name ? 1 : 0;
    const struct options_extra extras[] = {
        { "server", "address of the server: $SHOAL_LISTEN or 127.0.0.1:7411", &remote->server,
          true },
        { "key", "the key to show: $SHOAL_ADMIN_KEY, or $SHOAL_API_KEY", &remote->key, true },
    };
    const struct options_verb verb = {
        .doc = doc,
        .arguments = takes_name ? "NAME" : "",
        .is_json = &remote->is_json,
        .n_min = n_plain_wanted,
        .n_max = n_plain_wanted,
        .extras = extras,
        .n_extras = COUNT_OF(extras),
    };
    int n_plain;
    const char *from_environment = getenv("SHOAL_LISTEN");
    const char *admin_key = getenv("SHOAL_ADMIN_KEY");
    *remote = (struct remote){ .server = from_environment ? from_environment : "127.0.0.1:7411",
                               .key = admin_key ? admin_key : getenv("SHOAL_API_KEY") };
    return options_parse(&verb, argc, argv, NULL, &remote->name, &n_plain);
}

/* One call whose answer is a JSON object; NULL when it failed, with the sentence printed. */
static json_t *call(const struct remote *remote, const char *path, const char *body,
                    struct str *answer)
{
    const struct client_options client = { remote->server, remote->key };
    struct fault fault;
    int http_status;
    str_init(answer);
    if (client_call(&client, path, body, &http_status, answer, &fault) != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
        return NULL;
    }
    json_t *root = json_loads(answer->at ? answer->at : "", 0, NULL);
    if (http_status == 200 && root && strcmp(path, "/models") == 0 &&
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

static double number_at(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static double mib(const json_t *object, const char *key)
{
    return number_at(object, key) / 1048576.0;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* What is counted of a model on an engine, and its column. */
static const struct {
    const char *key, *title;
} counts[] = {
    { "requests_running", "RUN" },   { "requests_waiting", "WAIT" }, { "preempted", "PREEMPT" },
    { "swapped", "SWAP" },           { "exceeded", "EXCEED" },       { "pad_tokens", "PADS" },
    { "invalid_tokens", "INVALID" },
};

/* A model's line for each engine that has it; one line when none has. */
static void print_model(const json_t *model)
{
    size_t i;
    json_t *part;
    const json_t *parts = json_object_get(model, "engines");
    if (json_array_size(parts) == 0) {
        printf("%-24s %-10s", text_at(model, "id"),
               text_at(json_object_get(model, "status"), "value"));
        json_array_foreach(json_object_get(model, "devices"), i, part)
            printf("%s%s", i > 0 ? "," : " ", json_is_string(part) ? json_string_value(part) : "?");
        const char *why = text_at(json_object_get(model, "status"), "reason");
        printf("%s%s\n", *why != '\0' ? "  " : "", why);
    }
    json_array_foreach(parts, i, part) {
        const json_t *memory = json_object_get(part, "memory");
        printf("%-24s %-10s %-8s %9.1f %9.1f %9.1f %9.1f", text_at(model, "id"),
               text_at(json_object_get(part, "status"), "value"), text_at(part, "device"),
               mib(memory, "weights_bytes"), mib(memory, "activation_bytes"),
               mib(memory, "kv_used_bytes"), mib(memory, "kv_cached_bytes"));
        printf(" %6.1f%% %6.2f", 100 * number_at(part, "kv_share"), number_at(part, "kv_r"));
        for (size_t k = 0; k < COUNT_OF(counts); k++)
            printf(" %7.0f", number_at(part, counts[k].key));
        printf("\n");
    }
}

static void print_table(const json_t *root)
{
    size_t i;
    json_t *row;
    printf("%-24s %-10s %-8s %9s %9s %9s %9s", "NAME", "STATUS", "DEVICE", "WEIGHTS", "ACTIV", "KV",
           "KV CACHED");
    printf(" %7s %6s", "KV PART", "R");
    for (i = 0; i < COUNT_OF(counts); i++)
        printf(" %7s", counts[i].title);
    printf("\n");
    json_array_foreach(json_object_get(root, "data"), i, row)
        print_model(row);
    printf("\n");
    json_array_foreach(json_object_get(root, "engines"), i, row)
        printf("%s (engine %d): of %.1f MiB, %.1f MiB are the KV pool, %.1f MiB of it free, block "
               "tables of %.0f bytes%s\n",
               text_at(row, "device"), (int)number_at(row, "engine"), mib(row, "memory_bytes"),
               mib(row, "kv_pool_bytes"), mib(row, "kv_free_bytes"),
               number_at(row, "kv_table_bytes"),
               json_is_false(json_object_get(row, "healthy")) ? "; it is not healthy" : "");
}

int verbs_ps(int argc, char **argv)
{
    struct remote remote;
    struct str answer;
    if (!parse(&remote,
               "Prints the models of a running server: memory in MiB, its part of the KV that all "
               "models hold and R, that part over its due (1 is fair); requests, and what was "
               "preempted, swapped, longer than predicted, padded and computed in vain.",
               false, argc, argv))
        return 2;
    json_t *root = call(&remote, "/models", NULL, &answer);
    if (root && remote.is_json)
        printf("%s\n", answer.at);
    else if (root)
        print_table(root);
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
    if (!parse(&remote, "Prints the models that a running server knows.", false, argc, argv))
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
    if (!parse(&remote, doc, true, argc, argv))
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
