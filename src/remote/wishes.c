/* shoal pause, unpause, pin, unpin: wishes in the store of a cluster, or requests to one server. */
#include "remote/wishes.h"

#include "base/json_out.h"
#include "base/mem.h"
#include "fleet/operator.h"
#include "remote/call.h"
#include <stdio.h>

static const struct wish_verb {
    const char *path, *done, *doc;
} wishes[] = {
    [FLEET_PAUSE] = { "/models/pause", ": is paused",
                      "Lets a model take no new requests: they get 503. Those that it has end. "
                      "With "
                      "--store in a whole cluster, otherwise on one server." },
    [FLEET_UNPAUSE] = { "/models/unpause", ": takes requests again", "Ends `shoal pause`." },
    [FLEET_PIN] = { "/models/pin", ": is pinned",
                    "Keeps a model in memory at one place, and nowhere else. With --store the "
                    "PLACE is a node, HOST:PORT or HOST:PORT:ENGINE; otherwise it is the number of "
                    "an engine of one server." },
    [FLEET_UNPIN] = { "/models/unpin", ": is not pinned", "Ends `shoal pin`." },
};

static int ask_wish(struct remote *remote, enum fleet_wish_kind kind)
{
    struct str answer, body;
    struct json_out json;
    int64_t engine = -1;
    if (kind == FLEET_PIN && (!parse_i64(remote->words[1], &engine) || engine < 0)) {
        fprintf(stderr,
                "shoal: the place is \"%.80s\", expected the number of an engine of the server (or "
                "give --store, and a node)\n",
                remote->words[1]);
        return 2;
    }
    str_init(&body);
    json_out_init(&json, &body);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", remote->words[0]);
    if (kind == FLEET_PIN)
        json_out_key_i64(&json, "engine", engine);
    json_out_close(&json, '}');
    json_t *root = remote_call_ask(remote, wishes[kind].path, body.at, &answer);
    bool ok = root != NULL;
    if (ok && remote->is_json)
        printf("%s\n", answer.at);
    json_decref(root);
    str_free(&answer);
    str_free(&body);
    return ok ? 0 : 1;
}

static int wish(enum fleet_wish_kind kind, int argc, char **argv)
{
    struct fault fault;
    struct remote remote = { .config = mem_take(sizeof *remote.config) };
    enum remote_takes takes = kind == FLEET_PIN ? REMOTE_TAKES_PLACE : REMOTE_TAKES_NAME;
    int code = 2;
    config_init(remote.config);
    if (config_read_environment(remote.config, &fault) != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
    } else if (remote_call_parse(&remote, wishes[kind].doc, takes, argc, argv)) {
        const struct fleet_wish of = { kind, remote.words[0], remote.words[1] };
        code = remote.config->n_store > 0 ? fleet_operator_wish(remote.config, &of)
                                          : ask_wish(&remote, kind);
        if (code == 0 && !remote.is_json)
            printf("%s%s\n", remote.words[0], wishes[kind].done);
    }
    config_free(remote.config);
    mem_give(remote.config);
    return code;
}

int remote_wishes_pause(int argc, char **argv)
{
    return wish(FLEET_PAUSE, argc, argv);
}

int remote_wishes_unpause(int argc, char **argv)
{
    return wish(FLEET_UNPAUSE, argc, argv);
}

int remote_wishes_pin(int argc, char **argv)
{
    return wish(FLEET_PIN, argc, argv);
}

int remote_wishes_unpin(int argc, char **argv)
{
    return wish(FLEET_UNPIN, argc, argv);
}
