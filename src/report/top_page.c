/* Prints the state of a server as a page of any size. Sections share the lines: each gets its title
 * and a row in turn, and then one more row in turn until all have theirs. */
#include "report/top_page.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    MODELS,
    NODES,
    ENGINES,
    EVENTS,
    SECTIONS,
    ROW_NAME_MIN = 8,
    ROW_NAME_MAX = 40,
    TAIL_BYTES = 160
};
static const double MIB = 1048576.0;

struct page {
    const struct top *top;
    int width, n_left; /* characters of a line; lines that may follow */
    struct str *out;
};

/* ---- Lines. ---- */

/* Returns the bytes of the first n_most characters, or of all. */
static size_t bytes_of(const char *text, int n_most)
{
    size_t n = 0;
    for (int i = 0; i < n_most && text[n] != '\0'; i++) {
        n++;
        while (((unsigned char)text[n] & 0xC0) == 0x80)
            n++;
    }
    return n;
}

static int characters_of(const char *text)
{
    int n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static void add_line(struct page *page, const char *text)
{
    if (page->n_left == 0)
        return;
    page->n_left--;
    size_t n = bytes_of(text, page->width);
    while (n > 0 && text[n - 1] == ' ')
        n--;
    str_add(page->out, text, n);
    str_add_char(page->out, '\n');
}

/* Adds a name, padded or cut to the room that the tail leaves, and the tail. */
static void add_row(struct page *page, const char *name, const char *tail)
{
    char text[TOP_DEVICE_BYTES + ROW_NAME_MAX + TAIL_BYTES];
    int width = min_i32(max_i32(page->width - (int)strlen(tail) - 1, ROW_NAME_MIN), ROW_NAME_MAX);
    size_t n = bytes_of(name, width);
    int n_pad = width - min_i32(characters_of(name), width);
    snprintf(text, sizeof text, "%.*s%*s %s", (int)n, name, n_pad, "", tail);
    add_line(page, text);
}

static void clock_of(int64_t unix_s, char out[16])
{
    time_t at = (time_t)unix_s;
    struct tm tm = { 0 };
    (void)localtime_r(&at, &tm);
    snprintf(out, 16, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* ---- Rates. ---- */

static double span_s(const struct top *top)
{
    int64_t span_ns = top->before.now_ns > 0 ? top->last.now_ns - top->before.now_ns : 0;
    return (double)span_ns / 1e9;
}

/* Returns the rise of a counter in a second; a restarted server begins at 0. */
static double rate(const struct top *top, double now, double then)
{
    double s = span_s(top);
    return s > 0 && now > then ? (now - then) / s : 0;
}

/* Writes the mean of what came since the sample before, in ms; "-": nothing came. */
static void mean_ms(char out[16], double sum, double n)
{
    if (n > 0 && sum >= 0)
        snprintf(out, 16, "%.1f", sum / n * 1000);
    else
        snprintf(out, 16, "-");
}

static double percent_used(double pool, double left)
{
    return pool > 0 ? 100 * (pool - left) / pool : 0;
}

/* ---- Sections. ---- */

static void print_model(struct page *page, int i)
{
    char tail[TAIL_BYTES], ttft[16], gap[16], status[16];
    const struct top_model *m = &page->top->last.models[i];
    const struct top_model *before = report_top_model_before(page->top, i);
    const struct top_counts *now = &m->counts, *then = before != NULL ? &before->counts : now;
    mean_ms(ttft, now->ttft_s - then->ttft_s, now->n_ttft - then->n_ttft);
    mean_ms(gap, now->gap_s - then->gap_s, now->n_gaps - then->n_gaps);
    snprintf(status, sizeof status, "%.10s%s", m->is_paused ? "paused" : m->status,
             m->is_pinned ? "*" : "");
    snprintf(tail, sizeof tail, "%-9.9s %3d %4.0f %4.0f %6.1f %7.1f %7.7s %6.6s %8.1f", status,
             m->n_copies, m->n_running, m->n_waiting,
             rate(page->top, now->n_requests, then->n_requests),
             rate(page->top, now->n_tokens, then->n_tokens), ttft, gap, m->kv_bytes / MIB);
    add_row(page, m->name, tail);
}

static void print_engine(struct page *page, int i)
{
    char tail[TAIL_BYTES];
    const struct top_engine *e = &page->top->last.engines[i];
    const struct top_engine *then = report_top_engine_before(page->top, i);
    snprintf(tail, sizeof tail, "%-10s %4.0f %5.1f%% %10.1f %8.1f %8.0f",
             e->is_down      ? "restarting"
             : e->is_healthy ? "running"
                             : "not well",
             e->n_requests, percent_used(e->kv_pool_bytes, e->kv_free_bytes),
             e->kv_pool_bytes / MIB,
             rate(page->top, e->n_steps, then != NULL ? then->n_steps : e->n_steps), e->n_restarts);
    add_row(page, e->device, tail);
}

/* Returns whether engine i is the first of its node, in the order of the engines. */
static bool begins_node(const struct top_sample *s, int i)
{
    const struct top_engine *e = &s->engines[i], *before = i > 0 ? &s->engines[i - 1] : NULL;
    return e->n_node > 0 && (before == NULL || before->n_node != e->n_node ||
                             memcmp(before->device, e->device, (size_t)e->n_node) != 0);
}

static void print_node(struct page *page, int k)
{
    char tail[TAIL_BYTES], name[TOP_DEVICE_BYTES];
    const struct top_sample *s = &page->top->last;
    int i = 0, n = 0, n_well = 0;
    double n_requests = 0, pool = 0, left = 0;
    for (; i < s->n_engines && k >= 0; i++)
        k -= begins_node(s, i);
    const struct top_engine *first = &s->engines[i - 1];
    for (i--; i < s->n_engines && (n == 0 || !begins_node(s, i)); i++, n++) {
        const struct top_engine *e = &s->engines[i];
        n_well += e->is_healthy && !e->is_down;
        n_requests += e->n_requests;
        pool += e->kv_pool_bytes;
        left += e->kv_free_bytes;
    }
    snprintf(name, sizeof name, "%.*s", first->n_node, first->device);
    snprintf(tail, sizeof tail, "%3d/%-3d    %4.0f %5.1f%% %10.1f", n_well, n, n_requests,
             percent_used(pool, left), pool / MIB);
    add_row(page, name, tail);
}

/* The newest event comes first. */
static void print_event(struct page *page, int i)
{
    char text[TOP_TEXT_BYTES + 16], at[16];
    const struct top *top = page->top;
    const struct top_event *event = &top->events[(top->n_events - 1 - i) % TOP_EVENTS_MAX];
    clock_of(event->unix_s, at);
    snprintf(text, sizeof text, "%s %s", at, event->text);
    add_line(page, text);
}

static int n_rows(const struct top *top, int section)
{
    int n = 0;
    if (section == MODELS)
        return top->last.n_models;
    if (section == ENGINES)
        return top->last.n_engines;
    if (section == EVENTS)
        return (int)min_i64(top->n_events, TOP_EVENTS_MAX);
    for (int i = 0; i < top->last.n_engines; i++)
        n += begins_node(&top->last, i);
    return n;
}

static void print_title(struct page *page, int section, int n_shown, int n)
{
    static const char *const tails[SECTIONS] = {
        [MODELS] = "STATUS     ON  RUN WAIT  REQ/S   TOK/S TTFT ms   TPOT   KV MiB",
        [NODES] = "ENGINES     REQ     KV   POOL MiB",
        [ENGINES] = "STATE       REQ     KV   POOL MiB  STEPS/S RESTARTS",
        [EVENTS] = "",
    };
    static const char *const names[SECTIONS] = { "MODELS", "NODES", "ENGINES", "EVENTS" };
    char name[64];
    if (n_shown < n)
        snprintf(name, sizeof name, "%s %d of %d", names[section], n_shown, n);
    else
        snprintf(name, sizeof name, "%s", names[section]);
    add_row(page, name, tails[section]);
}

/* ---- The page. ---- */

static void print_head(struct page *page, int64_t unix_s)
{
    const struct top *top = page->top;
    const struct top_sample *last = &top->last, *before = &top->before;
    char text[512], at[16];
    double n_running = 0, n_waiting = 0, requests = 0, tokens = 0;
    int n_loaded = 0, n_well = 0;
    for (int i = 0; i < last->n_models; i++) {
        const struct top_model *m = &last->models[i], *then = report_top_model_before(top, i);
        n_loaded += m->n_copies > 0;
        n_running += m->n_running;
        n_waiting += m->n_waiting;
        if (then == NULL || before->now_ns == 0)
            continue;
        requests += rate(top, m->counts.n_requests, then->counts.n_requests);
        tokens += rate(top, m->counts.n_tokens, then->counts.n_tokens);
    }
    for (int i = 0; i < last->n_engines; i++)
        n_well += last->engines[i].is_healthy && !last->engines[i].is_down;
    clock_of(unix_s, at);
    snprintf(text, sizeof text, "shoal top  %s  %s%s%s", at, top->server, top->is_lost ? "  " : "",
             top->is_lost ? top->why : "");
    add_line(page, text);
    snprintf(text, sizeof text,
             "models %d/%d loaded  engines %d/%d well  run %.0f  wait %.0f  %.1f req/s  %.1f tok/s",
             n_loaded, last->n_models, n_well, last->n_engines, n_running, n_waiting, requests,
             tokens);
    add_line(page, text);
}

/* Divides the lines: title and a row to each section in turn, then more rows in turn. */
static void divide(const int n[SECTIONS], int n_lines, int shown[SECTIONS])
{
    bool has_given = true;
    for (int s = 0; s < SECTIONS; s++) {
        shown[s] = n[s] > 0 && n_lines >= 2;
        n_lines -= shown[s] > 0 ? 2 : 0;
    }
    while (n_lines > 0 && has_given) {
        has_given = false;
        for (int s = 0; s < SECTIONS && n_lines > 0; s++) {
            if (shown[s] == 0 || shown[s] == n[s])
                continue;
            shown[s]++;
            n_lines--;
            has_given = true;
        }
    }
}

void top_page_print(const struct top *top, int width, int height, int64_t unix_s, struct str *out)
{
    static void (*const prints[SECTIONS])(struct page * page, int i) = {
        [MODELS] = print_model,
        [NODES] = print_node,
        [ENGINES] = print_engine,
        [EVENTS] = print_event,
    };
    int n[SECTIONS], shown[SECTIONS];
    struct page page = { .top = top,
                         .width = width > 0 ? width : INT_MAX,
                         .n_left = height > 0 ? height : INT_MAX,
                         .out = out };
    print_head(&page, unix_s);
    for (int s = 0; s < SECTIONS; s++)
        n[s] = n_rows(top, s);
    divide(n, page.n_left, shown);
    for (int s = 0; s < SECTIONS; s++) {
        if (shown[s] == 0)
            continue;
        print_title(&page, s, shown[s], n[s]);
        for (int i = 0; i < shown[s]; i++)
            prints[s](&page, i);
    }
}
