/* A conversation with a model of a running server. */
#include "remote/talk.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/options.h"
#include "loadgen/client.h"
#include "loadgen/sse.h"
#include <histedit.h>
#include <jansson.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RAW_BYTES_MAX = 64 << 10, HISTORY_LINES = 1000 };

struct chat {
    struct client_options client;
    const char *model, *system, *temperature, *n_tokens; /* as given; NULL: none */
    char *named;                                         /* by /model; NULL: none */
    json_t *messages;
    bool is_terminal;
    EditLine *editor; /* of a terminal */
    History *history;
    const char *prompt;
    struct loadgen_sse sse; /* of the answer under way */
    struct str text, raw;   /* its text, and its bytes if it is an error */
    bool is_thinking, has_failed;
};
static volatile sig_atomic_t is_stopped;

static const char help[] =
    "  /model [NAME]   another model, or the list of them\n"
    "  /system [TEXT]  what the model is told first; the conversation begins anew\n"
    "  /clear          begins the conversation anew\n"
    "  /undo           takes back the last question and its answer\n"
    "  /save FILE      writes the messages as JSON\n"
    "  /quit           ends, as Ctrl-D does\n"
    "A line that ends with \\ goes on in the next one, and \"\"\" begins and ends several lines.\n"
    "Ctrl-C stops an answer.\n";

static void on_interrupt(int number)
{
    (void)number;
    is_stopped = 1;
}

/* --- the answer --- */

/* Prints text of a model. Control characters would reach the terminal as commands, so they are
 * shown as "?". */
static void print_safely(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        bool is_c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        bool is_control = (*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7f;
        if (is_c1 || is_control)
            putchar('?');
        else
            putchar(*at);
        at += is_c1;
    }
    fflush(stdout);
}

static void think(struct chat *chat, bool is_thinking)
{
    if (chat->is_thinking == is_thinking)
        return;
    chat->is_thinking = is_thinking;
    if (chat->is_terminal)
        fputs(is_thinking ? "\033[2m" : "\033[0m", stdout);
    if (!is_thinking)
        fputs("\n\n", stdout);
}

static void take_event(void *self, const char *data, size_t n)
{
    struct chat *chat = self;
    json_t *event = json_loadb(data, n, JSON_ALLOW_NUL, NULL);
    json_t *delta = json_object_get(json_array_get(json_object_get(event, "choices"), 0), "delta");
    const char *thought = json_string_value(json_object_get(delta, "reasoning_content"));
    const char *text = json_string_value(json_object_get(delta, "content"));
    const char *fault =
        json_string_value(json_object_get(json_object_get(event, "error"), "message"));
    if (thought != NULL && *thought != '\0') {
        think(chat, true);
        print_safely(thought);
    }
    if (text != NULL && *text != '\0') {
        think(chat, false);
        print_safely(text);
        str_add_text(&chat->text, text);
    }
    if (fault != NULL) {
        fprintf(stderr, "\nshoal: %s\n", fault);
        chat->has_failed = true;
    }
    json_decref(event);
}

static void take_bytes(void *self, const char *bytes, size_t n)
{
    struct chat *chat = self;
    if (chat->raw.n + n <= RAW_BYTES_MAX)
        str_add(&chat->raw, bytes, n);
    loadgen_sse_feed(&chat->sse, bytes, n, take_event, chat);
}

static void set_number(json_t *body, const char *key, const char *text)
{
    json_t *number = text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    if (number != NULL)
        (void)json_object_set_new(body, key, number);
}

static int add_part(const char *bytes, size_t n, void *self)
{
    str_add(self, bytes, n);
    return 0;
}

/* Writes the body of the next request. Returns false without memory, or when a text is not
 * UTF-8. */
static bool print_body(const struct chat *chat, struct str *out)
{
    json_t *messages = json_array(), *body = json_object();
    bool is_ok = chat->system == NULL ||
                 json_array_append_new(messages, json_pack("{ss,ss}", "role", "system", "content",
                                                           chat->system)) == 0;
    is_ok = is_ok && json_array_extend(messages, chat->messages) == 0;
    is_ok = json_object_set_new(body, "messages", messages) == 0 && is_ok;
    is_ok = is_ok && json_object_set_new(body, "stream", json_true()) == 0;
    if (chat->model != NULL)
        is_ok = is_ok && json_object_set_new(body, "model", json_string(chat->model)) == 0;
    set_number(body, "temperature", chat->temperature);
    set_number(body, "max_tokens", chat->n_tokens);
    is_ok = is_ok && json_dump_callback(body, add_part, out, 0) == 0;
    json_decref(body);
    return is_ok;
}

/* Prints the sentence of an answer that is no stream. */
static void explain(const struct chat *chat, const struct fault *fault)
{
    json_t *root = json_loadb(chat->raw.at != NULL ? chat->raw.at : "", chat->raw.n, 0, NULL);
    const char *why = json_string_value(json_object_get(json_object_get(root, "error"), "message"));
    fprintf(stderr, "shoal: %s\n", why != NULL ? why : fault->text);
    json_decref(root);
}

/* Asks for the next answer, prints it as it comes and keeps it. Returns false when there was none;
 * the question is then taken back. */
static bool ask(struct chat *chat)
{
    struct fault fault;
    struct str body;
    struct client_stream stream = {
        .path = "/v1/chat/completions", .take = take_bytes, .self = chat, .is_off = &is_stopped
    };
    const struct sigaction stop = { .sa_handler = on_interrupt };
    struct sigaction before;
    is_stopped = 0;
    chat->has_failed = chat->is_thinking = false;
    str_clear(&chat->text);
    str_clear(&chat->raw);
    loadgen_sse_init(&chat->sse);
    (void)sigaction(SIGINT, &stop, &before);
    str_init(&body);
    bool is_ok = print_body(chat, &body);
    stream.body = body.at;
    if (!is_ok)
        snprintf(fault.text, sizeof(fault.text),
                 "the model's name or the system text is not UTF-8");
    is_ok = is_ok && client_stream_all(&chat->client, &stream, 1, &fault) == STATUS_OK;
    (void)sigaction(SIGINT, &before, NULL);
    loadgen_sse_free(&chat->sse);
    str_free(&body);
    if (chat->is_thinking && chat->is_terminal)
        fputs("\033[0m", stdout);
    if (!is_ok && !is_stopped)
        explain(chat, &fault);
    puts(is_stopped ? "\n(stopped)" : "");
    if (chat->text.n == 0 || chat->has_failed) {
        (void)json_array_remove(chat->messages, json_array_size(chat->messages) - 1);
        return is_stopped != 0;
    }
    (void)json_array_append_new(
        chat->messages, json_pack("{ss,ss}", "role", "assistant", "content", chat->text.at));
    return true;
}

/* --- commands --- */

static void list_models(const struct chat *chat)
{
    struct fault fault;
    struct str answer;
    int status;
    size_t i;
    json_t *model;
    str_init(&answer);
    if (client_call(&chat->client, "/v1/models", NULL, &status, &answer, &fault) != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    json_t *root = json_loadb(answer.at != NULL ? answer.at : "", answer.n, 0, NULL);
    json_array_foreach(json_object_get(root, "data"), i, model) {
        const char *name = json_string_value(json_object_get(model, "id"));
        bool is_ours = name != NULL && chat->model != NULL && strcmp(name, chat->model) == 0;
        printf("%s %s\n", is_ours ? "*" : " ", name != NULL ? name : "?");
    }
    json_decref(root);
    str_free(&answer);
}

static void save(const struct chat *chat, const char *path)
{
    struct fault fault;
    struct str text;
    str_init(&text);
    if (*path == '\0')
        fprintf(stderr, "shoal: /save FILE: the file's name is missing\n");
    else if (json_dump_callback(chat->messages, add_part, &text, JSON_INDENT(2)) != 0)
        fprintf(stderr, "shoal: there is no memory\n");
    else if (file_write(path, text.at, text.n, &fault) != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    else
        printf("%zu messages are in %s\n", json_array_size(chat->messages), path);
    str_free(&text);
}

/* Keeps a copy of what a command gives. */
static void keep(char **place, const char *text)
{
    char *copy = *text != '\0' ? mem_copy_text(text) : NULL;
    mem_give(*place);
    *place = copy;
}

/* Obeys a line that begins with "/". Returns false when the conversation ends. */
static bool obey(struct chat *chat, const char *line, char **system)
{
    size_t n = strcspn(line, " ");
    const char *rest = line + n + strspn(line + n, " ");
    struct view name = view_of(line, n);
    if (view_equal_text(name, "/quit") || view_equal_text(name, "/exit"))
        return false;
    if (view_equal_text(name, "/clear")) {
        (void)json_array_clear(chat->messages);
    } else if (view_equal_text(name, "/undo")) {
        for (int i = 0; i < 2 && json_array_size(chat->messages) > 0; i++)
            (void)json_array_remove(chat->messages, json_array_size(chat->messages) - 1);
    } else if (view_equal_text(name, "/system")) {
        keep(system, rest);
        chat->system = *system;
        (void)json_array_clear(chat->messages);
    } else if (view_equal_text(name, "/save")) {
        save(chat, rest);
    } else if (view_equal_text(name, "/model")) {
        if (*rest != '\0') {
            keep(&chat->named, rest);
            chat->model = chat->named;
        } else {
            list_models(chat);
        }
    } else {
        if (!view_equal_text(name, "/help"))
            printf("there is no command %.*s\n", (int)n, line);
        fputs(help, stdout);
    }
    return true;
}

/* --- lines --- */

static char *prompt_of(EditLine *editor)
{
    struct chat *chat;
    return el_get(editor, EL_CLIENTDATA, &chat) == 0 ? (char *)(uintptr_t)chat->prompt : NULL;
}

/* Opens the editor of lines: arrows, a history, and Ctrl-C that leaves the terminal as it was. */
static bool open_editor(struct chat *chat)
{
    HistEvent event;
    (void)setlocale(LC_CTYPE, "");
    chat->history = history_init();
    chat->editor = el_init("shoal", stdin, stdout, stderr);
    if (chat->history == NULL || chat->editor == NULL)
        return false;
    (void)history(chat->history, &event, H_SETSIZE, HISTORY_LINES);
    (void)el_set(chat->editor, EL_CLIENTDATA, chat);
    (void)el_set(chat->editor, EL_PROMPT, prompt_of);
    (void)el_set(chat->editor, EL_EDITOR, "emacs");
    (void)el_set(chat->editor, EL_SIGNAL, 1);
    (void)el_set(chat->editor, EL_HIST, history, chat->history);
    return true;
}

static void close_editor(struct chat *chat)
{
    if (chat->editor != NULL)
        el_end(chat->editor);
    if (chat->history != NULL)
        history_end(chat->history);
}

/* Reads one line without its end. Returns false at the end. */
static bool read_line(struct chat *chat, const char *prompt, struct str *out)
{
    int c = EOF;
    str_clear(out);
    str_add_text(out, "");
    if (chat->is_terminal) {
        int n = 0;
        chat->prompt = prompt;
        const char *line = el_gets(chat->editor, &n);
        if (line != NULL && n > 0)
            str_add(out, line, (size_t)n - (line[n - 1] == '\n'));
        return line != NULL && n > 0;
    }
    while ((c = getchar()) != EOF && c != '\n')
        str_add_char(out, (char)c);
    return c != EOF || out->n > 0;
}

/* Reads what is said next: a line, lines joined by a backslash, or lines between """. Returns false
 * at the end. */
static bool read_turn(struct chat *chat, struct str *out)
{
    bool is_block = false, goes_on = true, is_there = true;
    struct str line;
    str_init(&line);
    str_clear(out);
    for (int i = 0; goes_on && is_there; i++) {
        is_there = read_line(chat, i == 0 ? "> " : ". ", &line);
        struct view said = view_of(line.at, line.n);
        bool is_mark = view_equal_text(said, "\"\"\"") && (i == 0 || is_block);
        bool is_joined = !is_block && said.n > 0 && said.at[said.n - 1] == '\\';
        if (!is_mark && out->n > 0)
            str_add_char(out, '\n');
        if (!is_mark)
            str_add(out, said.at, said.n - is_joined);
        is_block = is_mark ? !is_block : is_block;
        goes_on = is_block || is_joined;
    }
    str_free(&line);
    HistEvent event;
    if (chat->is_terminal && out->n > 0)
        (void)history(chat->history, &event, H_ENTER, out->at);
    return is_there;
}

static int talk(struct chat *chat)
{
    struct str turn;
    char *system = NULL;
    bool is_ok = true;
    str_init(&turn);
    str_init(&chat->text);
    str_init(&chat->raw);
    if (chat->is_terminal)
        puts("/help lists commands, Ctrl-D ends");
    while (read_turn(chat, &turn)) {
        if (turn.n == 0)
            continue;
        if (turn.at[0] == '/') {
            if (!obey(chat, turn.at, &system))
                break;
            continue;
        }
        json_t *said = json_pack("{ss,ss}", "role", "user", "content", turn.at);
        if (said == NULL) {
            fprintf(
                stderr,
                "shoal: the message is not UTF-8 and was not sent: set the terminal to UTF-8\n");
            is_ok = false;
            continue;
        }
        (void)json_array_append_new(chat->messages, said);
        is_ok = ask(chat) && (is_ok || chat->is_terminal);
    }
    mem_give(system);
    mem_give(chat->named);
    str_free(&turn);
    str_free(&chat->text);
    str_free(&chat->raw);
    return is_ok ? 0 : 1;
}

/* Checks a number of the command line; the server checks its range. */
static bool is_number(const char *option, const char *text)
{
    char *end;
    if (text == NULL || (strtod(text, &end), *text != '\0' && *end == '\0'))
        return true;
    fprintf(stderr, "shoal: --%s: \"%.60s\" is no number\n", option, text);
    return false;
}

int remote_talk_run(int argc, char **argv)
{
    const char *insecure = NULL;
    const char *listen = getenv("SHOAL_LISTEN"), *key = getenv("SHOAL_API_KEY");
    struct chat chat = { .client = { .server = listen != NULL ? listen : "127.0.0.1:7411",
                                     .key = key != NULL ? key : getenv("SHOAL_ADMIN_KEY") } };
    const struct options_extra extras[] = {
        { "server", "address of the server: $SHOAL_LISTEN or 127.0.0.1:7411", &chat.client.server,
          true },
        { "key", "the key to show: $SHOAL_API_KEY, or $SHOAL_ADMIN_KEY", &chat.client.key, true },
        { "cacert", "trust the authorities of this PEM file, over https", &chat.client.cacert,
          true },
        { "insecure", "trust any certificate, over https", &insecure, false },
        { "system", "what the model is told first", &chat.system, true },
        { "temperature", "temperature of each draw; absent: the model's own", &chat.temperature,
          true },
        { "max-tokens", "longest answer; absent: the rest of the context", &chat.n_tokens, true },
    };
    const struct options_verb verb = {
        .doc = "Talks with a model of a running server. The answers are printed as they come.",
        .arguments = "[MODEL]",
        .n_max = 1,
        .extras = extras,
        .n_extras = COUNT_OF(extras),
    };
    struct fault fault;
    int n_plain = 0;
    if (!config_options_parse(&verb, argc, argv, NULL, &chat.model, &n_plain) ||
        !is_number("temperature", chat.temperature) || !is_number("max-tokens", chat.n_tokens))
        return 2;
    chat.client.is_insecure = insecure != NULL;
    if (client_check(&chat.client, &fault) != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
        return 2;
    }
    chat.is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (chat.is_terminal)
        mem_need(open_editor(&chat));
    chat.messages = json_array();
    int code = talk(&chat);
    json_decref(chat.messages);
    close_editor(&chat);
    return code;
}
