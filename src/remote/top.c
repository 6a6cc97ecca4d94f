/* shoal top: a running server as it works, in a terminal.
 *
 * A thread asks the server once a second, so that keys and a new size of the terminal are answered
 * while the server is silent. This thread draws. The terminal is given back as it was, also after
 * SIGTERM, SIGINT and SIGHUP. */
#define NCURSES_NOMACROS
#include "remote/top.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "remote/call.h"
#include "report/top_page.h"
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_BYTES_MAX = 64 << 20, CALL_MS = 5000, KEY_MS = 50, PLAIN_WIDTH = 120 };
static const int64_t TURN_NS = TIME_NS_PER_S;

struct watch {
    struct remote remote;
    struct top *top;   /* under the lock */
    struct lock *lock; /* NULL with --once, which has one thread */
    _Atomic bool is_over, has_news;
};

static volatile sig_atomic_t is_stopped;

static void on_signal(int number)
{
    (void)number;
    is_stopped = 1;
}

/* ---- Samples. ---- */

static bool is_over(void *self)
{
    return atomic_load(&((struct watch *)self)->is_over);
}

/* Asks once. Returns false, with the sentence, when there was no answer. */
static bool take_sample(struct watch *w, char why[REMOTE_WHY_BYTES])
{
    struct str states, metrics;
    struct fault fault;
    int http_status = 0;
    str_init(&metrics);
    json_t *root = remote_call_try(&w->remote, "/models", NULL, &states, why);
    bool is_there = root != NULL;
    /* Without metrics there are no latencies, and the rest is shown. */
    if (is_there && (client_call(&w->remote.client, "/metrics", NULL, &http_status, &metrics,
                                 &fault) != STATUS_OK ||
                     http_status != 200))
        str_clear(&metrics);
    if (w->lock != NULL)
        lock_take(w->lock);
    if (is_there)
        report_top_take(w->top, root, view_of(metrics.at, metrics.n), time_now_ns(),
                        time_unix_ns() / TIME_NS_PER_S);
    else
        report_top_lose(w->top, why, time_unix_ns() / TIME_NS_PER_S);
    if (w->lock != NULL)
        lock_put(w->lock);
    json_decref(root);
    str_free(&states);
    str_free(&metrics);
    return is_there;
}

static void ask(void *arg)
{
    struct watch *w = arg;
    char why[REMOTE_WHY_BYTES];
    int64_t next_ns = time_now_ns();
    while (!atomic_load(&w->is_over)) {
        int64_t now_ns = time_now_ns();
        if (now_ns < next_ns) {
            time_sleep_ns(min_i64(next_ns - now_ns, KEY_MS * TIME_NS_PER_MS));
            continue;
        }
        next_ns = now_ns + TURN_NS;
        (void)take_sample(w, why);
        atomic_store(&w->has_news, true);
    }
}

/* ---- The terminal. ---- */

static void draw(struct watch *w)
{
    struct str page;
    int row = 0;
    str_init(&page);
    lock_take(w->lock);
    top_page_print(w->top, max_i32(COLS, 1), max_i32(LINES, 1), time_unix_ns() / TIME_NS_PER_S,
                   &page);
    lock_put(w->lock);
    (void)erase();
    for (char *line = page.at, *next; line != NULL && *line != '\0'; line = next, row++) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        (void)mvaddnstr(row, 0, line, -1);
    }
    (void)refresh();
    str_free(&page);
}

/* Returns when q is pressed, the terminal is gone, or a signal says so. */
static void show(struct watch *w)
{
    int64_t drawn_s = 0;
    bool is_wanted = true;
    timeout(KEY_MS);
    while (!is_stopped) {
        int key = getch();
        int64_t now_s = time_now_ns() / TIME_NS_PER_S;
        if (key == 'q' || key == 'Q' || key == 3 || (key == ERR && isatty(STDIN_FILENO) == 0))
            return;
        if (atomic_exchange(&w->has_news, false) || key == KEY_RESIZE || key == 12 || is_wanted ||
            now_s != drawn_s) {
            if (key == 12 || key == KEY_RESIZE) /* Control-L: another program wrote over it */
                (void)clearok(stdscr, TRUE);
            draw(w);
            drawn_s = now_s;
            is_wanted = false;
        }
    }
}

static int run_terminal(struct watch *w)
{
    struct sigaction action = { .sa_handler = on_signal };
    (void)sigaction(SIGINT, &action, NULL); /* before the library's own handlers */
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    (void)setlocale(LC_CTYPE, "");
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (screen == NULL) {
        const char *term = getenv("TERM");
        fprintf(
            stderr,
            "shoal: this system has no description of the terminal \"%.60s\" (TERM): set it, or "
            "give --once\n",
            term != NULL ? term : "");
        return 1;
    }
    (void)cbreak();
    (void)noecho();
    (void)keypad(stdscr, TRUE);
    (void)curs_set(0);
    w->lock = lock_open();
    w->remote.client.is_over = is_over;
    w->remote.client.self = w;
    struct thread *asker = thread_start("top", ask, w);
    show(w);
    (void)endwin(); /* at once, also when the server is silent */
    delscreen(screen);
    atomic_store(&w->is_over, true);
    thread_join(asker);
    lock_close(w->lock);
    return 0;
}

/* Rates need two samples. */
static int run_once(struct watch *w)
{
    struct str page;
    char why[REMOTE_WHY_BYTES];
    bool is_there = take_sample(w, why);
    if (is_there) {
        time_sleep_ns(TURN_NS);
        is_there = take_sample(w, why);
    }
    if (!is_there) {
        fprintf(stderr, "shoal: %s\n", why);
        return 1;
    }
    str_init(&page);
    top_page_print(w->top, PLAIN_WIDTH, 0, time_unix_ns() / TIME_NS_PER_S, &page);
    fputs(page.at, stdout);
    str_free(&page);
    return 0;
}

static const char doc[] =
    "Shows a running server or gateway as it works, each second: nodes, engines, models, requests "
    "that run and wait, use of the KV pool, rates, latencies of the last second, and events. An * "
    "after a model's status means that it is pinned. q ends it.";

int remote_top_run(int argc, char **argv)
{
    struct watch *w = mem_take(sizeof *w);
    int code = 2;
    if (!remote_call_parse(&w->remote, doc, REMOTE_TAKES_ONCE, argc, argv)) {
        mem_give(w);
        return 2;
    }
    w->remote.client.n_bytes_max = ANSWER_BYTES_MAX;
    w->remote.client.timeout_ms = CALL_MS;
    w->top = mem_take(sizeof *w->top);
    report_top_open(w->top, w->remote.client.server);
    if (w->remote.has_flag)
        code = run_once(w);
    else if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        code = run_terminal(w);
    else
        fprintf(stderr, "shoal: the input or the output is no terminal: give --once, which prints "
                        "one page\n");
    report_top_close(w->top);
    mem_give(w->top);
    mem_give(w);
    return code;
}
