/* The options of verbs that ask a running server, and calls to it. */
#include "remote/call.h"

#include "config/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool remote_call_parse(struct remote *remote, const char *doc, enum remote_takes takes, int argc,
                       char **argv)
{
    const bool has_address = takes == REMOTE_TAKES_ADDRESS;
    const int n_plain_wanted =
        takes == REMOTE_TAKES_PLACE ? 2 : takes == REMOTE_TAKES_NAME || has_address;
    const char *insecure = NULL, *flag = NULL;
    const bool has_flag = takes == REMOTE_TAKES_WIDE || takes == REMOTE_TAKES_ONCE;
    const struct options_extra extras[] = {
        { "server",
          "address of the server, https://... if it speaks TLS: $SHOAL_LISTEN or 127.0.0.1:7411",
          &remote->client.server, true },
        { "key", "the key to show: $SHOAL_ADMIN_KEY, or $SHOAL_API_KEY", &remote->client.key,
          true },
        { "cacert", "trust the authorities of this PEM file, over https", &remote->client.cacert,
          true },
        { "insecure", "trust any certificate, over https", &insecure, false },
        takes == REMOTE_TAKES_ONCE
            ? (struct options_extra){ "once", "print one page as plain text, and end", &flag,
                                      false }
            : (struct options_extra){ "wide", "all that is counted, in one wide table", &flag,
                                      false },
    };
    const struct options_verb verb = {
        .doc = doc,
        .arguments = takes == REMOTE_TAKES_PLACE  ? "NAME PLACE"
                     : takes == REMOTE_TAKES_NAME ? "NAME"
                     : has_address                ? "HOST:PORT"
                                                  : "",
        .has_config = remote->config != NULL,
        .keys = "cluster store store_ca store_cert store_key",
        .is_json = takes == REMOTE_TAKES_ONCE ? NULL : &remote->is_json,
        .n_min = n_plain_wanted,
        .n_max = n_plain_wanted,
        .extras = extras + has_address, /* without --server */
        .n_extras = (int)COUNT_OF(extras) - has_address - !has_flag,
    };
    struct fault fault;
    int n_plain;
    const char *from_environment = getenv("SHOAL_LISTEN");
    const char *admin_key = getenv("SHOAL_ADMIN_KEY");
    *remote = (struct remote){ .config = remote->config,
                               .client = {
                                   .server = from_environment ? from_environment : "127.0.0.1:7411",
                                   .key = admin_key ? admin_key : getenv("SHOAL_API_KEY") } };
    if (!config_options_parse(&verb, argc, argv, remote->config, remote->words, &n_plain))
        return false;
    if (has_address)
        remote->client.server = remote->words[0];
    remote->client.is_insecure = insecure != NULL;
    remote->has_flag = flag != NULL;
    if (client_check(&remote->client, &fault) == STATUS_OK)
        return true;
    fprintf(stderr, "shoal: %s\n", fault.text);
    return false;
}

json_t *remote_call_try(const struct remote *remote, const char *path, const char *body,
                        struct str *answer, char why[REMOTE_WHY_BYTES])
{
    int http_status;
    struct fault fault;
    str_init(answer);
    if (client_call(&remote->client, path, body, &http_status, answer, &fault) != STATUS_OK) {
        snprintf(why, REMOTE_WHY_BYTES, "%s", fault.text);
        return NULL;
    }
    json_t *root = json_loads(answer->at ? answer->at : "", 0, NULL);
    /* Without the admin key /models is OpenAI's list. */
    bool is_list = http_status == 200 && strcmp(path, "/models") == 0 &&
                   json_object_get(root, "object") && !json_object_get(root, "engines");
    if (http_status == 200 && root && !is_list)
        return root;
    const char *message =
        json_string_value(json_object_get(json_object_get(root, "error"), "message"));
    snprintf(why, REMOTE_WHY_BYTES, "%s",
             is_list   ? "the server tells operators alone how its models are: the admin key is "
                         "needed (--key)"
             : message ? message
                       : "the server gave an answer that is not JSON");
    json_decref(root);
    return NULL;
}

json_t *remote_call_ask(const struct remote *remote, const char *path, const char *body,
                        struct str *answer)
{
    char why[REMOTE_WHY_BYTES];
    json_t *root = remote_call_try(remote, path, body, answer, why);
    if (root == NULL)
        fprintf(stderr, "shoal: %s\n", why);
    return root;
}
