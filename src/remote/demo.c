/* shoal demo starts a server with the two demo models, sends both a question at once, prints
 * answers and figures, and stops it. */
#include "remote/demo.h"

#include "base/json_out.h"
#include "base/time.h"
#include "config/options.h"
#include "loadgen/client.h"
#include <arpa/inet.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEMO_MODELS = 2, PATH_BYTES = 512, READY_S_MAX = 60 };
static const struct {
    const char *name, *prompt;
} demos[DEMO_MODELS] = {
    { "tale", "And it came to pass, when the king heard" },
    { "cee", "static int " },
};

/* One streaming chat: it takes server-sent events and gives text and figures. */
struct chat {
    struct str pending, text;
    int64_t begun_ns, first_ns, last_ns;
    int32_t n_chunks, n_tokens;
};

static void take_event(struct chat *chat, const char *line)
{
    json_t *event = json_loads(line, JSON_ALLOW_NUL, NULL);
    const char *content = NULL;
    json_t *choice = json_array_get(json_object_get(event, "choices"), 0);
    json_t *delta = json_object_get(choice, "delta"), *usage = json_object_get(event, "usage");
    content = json_string_value(json_object_get(delta, "content"));
    if (content && *content) {
        chat->last_ns = time_now_ns();
        chat->first_ns = chat->n_chunks++ == 0 ? chat->last_ns : chat->first_ns;
        str_add_text(&chat->text, content);
    }
    if (json_is_object(usage))
        chat->n_tokens = (int32_t)json_integer_value(json_object_get(usage, "completion_tokens"));
    json_decref(event);
}

static void take_bytes(void *self, const char *bytes, size_t n)
{
    struct chat *chat = self;
    str_add(&chat->pending, bytes, n);
    for (char *end;
         chat->pending.n > 0 && (end = memchr(chat->pending.at, '\n', chat->pending.n));) {
        size_t n_line = (size_t)(end - chat->pending.at) + 1;
        *end = '\0';
        if (strncmp(chat->pending.at, "data: {", 7) == 0)
            take_event(chat, chat->pending.at + 6);
        memmove(chat->pending.at, chat->pending.at + n_line, chat->pending.n - n_line);
        chat->pending.n -= n_line;
    }
}

/* A port that was free a moment ago. */
static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
              getsockname(fd, (struct sockaddr *)&address, &n) == 0;
    if (fd >= 0)
        close(fd);
    return ok ? ntohs(address.sin_port) : 7411;
}

/* Finds the folder of the demo models: the given one, or models/ beside the build folder, or
 * models/ here. */
static void find_models(const char *given, char *out)
{
    char exe[PATH_BYTES - 16];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    snprintf(out, PATH_BYTES, "%s", given ? given : "models");
    if (given || n <= 0)
        return;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = '\0';
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/../models/tale.gguf", exe);
    if (access(path, R_OK) == 0)
        snprintf(out, PATH_BYTES, "%s/../models", exe);
}

static pid_t start_server(const char *listen, const char *folder)
{
    char models[DEMO_MODELS][PATH_BYTES + 64];
    for (int i = 0; i < DEMO_MODELS; i++)
        snprintf(models[i], sizeof models[i], "%s=%s/%s.gguf", demos[i].name, folder,
                 demos[i].name);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "shoal", "serve", "--listen", listen, "--model", models[0],
              "--model", models[1], "--log-level", "warn", (char *)NULL);
        _exit(127);
    }
    return child;
}

/* Are all models of GET /models loaded? */
static bool are_loaded(const char *models)
{
    size_t i;
    json_t *model, *root = json_loads(models, 0, NULL), *data = json_object_get(root, "data");
    bool all = json_array_size(data) == DEMO_MODELS;
    json_array_foreach(data, i, model) {
        const char *status =
            json_string_value(json_object_get(json_object_get(model, "status"), "value"));
        all = all && status && strcmp(status, "loaded") == 0;
    }
    json_decref(root);
    return all;
}

static bool wait_ready(const struct client_options *client, pid_t child)
{
    struct str answer;
    struct fault fault;
    bool is_ready = false;
    str_init(&answer);
    for (int i = 0; i < READY_S_MAX * 100 && !is_ready && waitpid(child, NULL, WNOHANG) == 0; i++) {
        int status = 0;
        str_clear(&answer);
        (void)client_call(client, "/models", NULL, &status, &answer, &fault);
        is_ready = status == 200 && are_loaded(answer.at);
        if (!is_ready)
            time_sleep_ns(10 * TIME_NS_PER_MS);
    }
    str_free(&answer);
    return is_ready;
}

static void make_body(struct str *body, int i)
{
    struct json_out json;
    str_init(body);
    json_out_init(&json, body);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", demos[i].name);
    json_out_key(&json, "messages");
    json_out_open(&json, '[');
    json_out_open(&json, '{');
    json_out_key_text(&json, "role", "user");
    json_out_key_text(&json, "content", demos[i].prompt);
    json_out_close(&json, '}');
    json_out_close(&json, ']');
    json_out_key_bool(&json, "stream", true);
    json_out_key(&json, "stream_options");
    json_out_open(&json, '{');
    json_out_key_bool(&json, "include_usage", true);
    json_out_close(&json, '}');
    json_out_key_i64(&json, "max_tokens", 160);
    json_out_key_f64(&json, "temperature", 0.6);
    json_out_key_i64(&json, "seed", 7);
    json_out_close(&json, '}');
}

static void print_chat(int i, const struct chat *chat)
{
    double ttft_ms = (double)(chat->first_ns - chat->begun_ns) * 1e-6;
    double decode_s = (double)(chat->last_ns - chat->first_ns) * 1e-9;
    printf("--- %s ---\n%s%s\n", demos[i].name, demos[i].prompt,
           chat->text.at ? chat->text.at : "");
    printf("[%s: %d tokens, TTFT %.1f ms, %.0f tokens/s]\n\n", demos[i].name, chat->n_tokens,
           ttft_ms, decode_s > 0.0 ? (double)(chat->n_tokens - 1) / decode_s : 0.0);
}

static int ask_both(const struct client_options *client)
{
    struct chat chats[DEMO_MODELS] = { 0 };
    struct client_stream streams[DEMO_MODELS];
    struct str bodies[DEMO_MODELS];
    struct fault fault;
    bool ok = true;
    for (int i = 0; i < DEMO_MODELS; i++) {
        make_body(&bodies[i], i);
        chats[i].begun_ns = time_now_ns();
        streams[i] = (struct client_stream){ "/v1/chat/completions", bodies[i].at, take_bytes,
                                             &chats[i], 0 };
    }
    if (client_stream_all(client, streams, DEMO_MODELS, &fault) != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
        ok = false;
    }
    for (int i = 0; i < DEMO_MODELS; i++) {
        ok = ok && chats[i].n_tokens > 0;
        print_chat(i, &chats[i]);
        str_free(&bodies[i]);
        str_free(&chats[i].text);
        str_free(&chats[i].pending);
    }
    return ok ? 0 : 1;
}

int remote_demo_run(int argc, char **argv)
{
    const char *folder = NULL, *plain[1];
    const struct options_extra extras[] = { { "models", "the folder of tale.gguf and cee.gguf",
                                              &folder, true } };
    const struct options_verb verb = {
        .doc =
            "Starts a server with the two demo models on loopback, asks both at once and stops it.",
        .arguments = "",
        .extras = extras,
        .n_extras = COUNT_OF(extras)
    };
    int n_plain;
    char listen[32], models[PATH_BYTES];
    if (!config_options_parse(&verb, argc, argv, NULL, plain, &n_plain))
        return 2;
    find_models(folder, models);
    snprintf(listen, sizeof listen, "127.0.0.1:%d", free_port());
    const struct client_options client = { listen, NULL };
    int64_t begun_ns = time_now_ns();
    pid_t child = start_server(listen, models);
    int code = 1, status = 0;
    if (child < 0 || !wait_ready(&client, child)) {
        fprintf(stderr, "shoal: the server did not become ready\n");
    } else {
        printf("two models ready at http://%s after %.0f ms\n\n", listen,
               (double)(time_now_ns() - begun_ns) * 1e-6);
        code = ask_both(&client);
    }
    if (child > 0 && kill(child, SIGTERM) == 0 && waitpid(child, &status, 0) == child &&
        code == 0) {
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        printf("the server stopped %s\n", code == 0 ? "cleanly" : "with an error");
    }
    return code;
}
