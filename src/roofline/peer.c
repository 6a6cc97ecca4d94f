/* Runs programs of llama.cpp's family: their flags, their runs, their output. */
#include "roofline/roofline.h"

#include "base/time.h"
#include "roofline/busy.h"
#include "roofline/child.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 48, WORD_BYTES = 32, BEHIND = 64 };
#define CHILD_NS (600 * TIME_NS_PER_S)

enum status roofline_peer_open(struct roofline_peer *peer, const char *path, struct fault *fault)
{
    const char *const argv[] = { path, "--help", NULL };
    struct str text;
    memset(peer, 0, sizeof(*peer));
    if (strlen(path) + sizeof("batched-") > sizeof(peer->bench))
        return fault_set(fault, STATUS_TOO_LARGE, "%.100s...: a peer's path has at most %d bytes",
                         path, (int)(sizeof(peer->bench) - sizeof("batched-")));
    str_init(&text);
    enum status status = roofline_child_run(argv, CHILD_NS, &text, NULL, fault);
    if (status == STATUS_OK && (text.n == 0 || strstr(text.at, "--n-prompt") == NULL))
        status = fault_set(fault, STATUS_BAD_INPUT, "%s is not a llama-bench", path);
    if (status == STATUS_OK) {
        peer->is_ik = strstr(text.at, "--run-time-repack") != NULL;
        snprintf(peer->bench, sizeof(peer->bench), "%s", path);
        const char *slash = strrchr(path, '/');
        snprintf(peer->batched, sizeof(peer->batched), "%.*sllama-batched-bench",
                 slash != NULL ? (int)(slash - path) + 1 : 0, path);
        if (access(peer->batched, X_OK) != 0)
            peer->batched[0] = '\0';
    }
    str_free(&text);
    return status;
}

void roofline_peer_flags(const struct roofline_peer *peer, int variant, bool is_batched,
                         struct str *out)
{
    bool is_flash = variant % 2 == 1, is_repacked = variant / 2 == 1;
    if (is_batched && peer->is_ik && !is_flash)
        str_add_text(out, "-no-fa");
    else if (is_batched)
        str_printf(out, "-fa %s", is_flash ? "on" : "off");
    else
        str_printf(out, "-fa %d", is_flash);
    if (!is_batched)
        str_printf(out, " %s %d", peer->is_ik ? "-rtr" : "--repack", is_repacked);
    else if (peer->is_ik && is_repacked)
        str_add_text(out, " -rtr");
    else if (!peer->is_ik && !is_repacked)
        str_add_text(out, " --no-repack");
}

double roofline_peer_rate(const char *text, int32_t n_prompt, int32_t n_generated, int32_t n_depth,
                          char commit[64])
{
    double rates[64], rate = 0;
    const char *begin = strchr(text, '['); /* warnings may stand before it */
    for (; begin != NULL && begin[1] != '\n' && begin[1] != '\0'; begin = strchr(begin + 1, '['))
        continue;
    json_t *tests = begin != NULL ? json_loads(begin, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    for (size_t i = 0; i < json_array_size(tests); i++) {
        const json_t *row = json_array_get(tests, i);
        const json_t *samples = json_object_get(row, "samples_ts");
        const char *hash = json_string_value(json_object_get(row, "build_commit"));
        if (hash != NULL)
            snprintf(commit, 64, "%s", hash);
        if (json_integer_value(json_object_get(row, "n_prompt")) != n_prompt ||
            json_integer_value(json_object_get(row, "n_gen")) != n_generated ||
            json_integer_value(json_object_get(row, "n_depth")) != n_depth)
            continue;
        int n = (int)min_i64((int64_t)json_array_size(samples), (int64_t)COUNT_OF(rates));
        for (int k = 0; k < n; k++)
            rates[k] = json_number_value(json_array_get(samples, (size_t)k));
        rate = n > 0 ? roofline_work_median(rates, n)
                     : json_number_value(json_object_get(row, "avg_ts"));
    }
    json_decref(tests);
    return rate;
}

double roofline_peer_batched_rate(const char *text, int32_t n_sequences)
{
    double rate = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        double cells[10];
        int n = 0;
        line += *line == '\n';
        const char *at = line;
        while (*at == '|' && n < (int)COUNT_OF(cells)) {
            char *end;
            cells[n] = strtod(at + 1, &end);
            if (end == at + 1)
                break;
            n++;
            for (at = end; *at == ' '; at++)
                continue;
        }
        if (n == (int)COUNT_OF(cells) && cells[2] == n_sequences && cells[7] - cells[7] == 0)
            rate = cells[7]; /* a number, since a run that took no time is infinitely fast */
    }
    return rate;
}

/* Runs "program words flags", words split at spaces. */
static enum status run(const char *program, const char *model, const struct str *words,
                       struct str *out, struct str *errors, struct fault *fault)
{
    static char copies[WORDS_MAX][WORD_BYTES];
    const char *argv[WORDS_MAX + 4] = { program, "-m", model };
    int n = 0;
    for (const char *at = words->at; *at != '\0' && n < WORDS_MAX; n++) {
        size_t length = strcspn(at, " ");
        snprintf(copies[n], WORD_BYTES, "%.*s", (int)length, at);
        argv[3 + n] = copies[n];
        at += length + strspn(at + length, " ");
    }
    argv[3 + n] = NULL;
    return roofline_child_run(argv, CHILD_NS, out, errors, fault);
}

static void note(const struct roofline_visit *v, struct roofline_row *row, double rate,
                 const struct busy *before)
{
    struct busy after = roofline_busy_now();
    row->peers[v->index][v->variant][v->round] = rate;
    row->peer_others[v->index][v->round] = roofline_busy_others(before, &after);
}

/* Checks that the program printed something for the rows that it had to run, with one or many
 * requests each. */
static enum status judge(const struct roofline_visit *v, const char *program, bool is_batched,
                         const char *expected, struct fault *fault)
{
    for (int i = 0; i < v->model->n_rows; i++) {
        const struct roofline_row *row = &v->model->rows[i];
        if ((row->point.n_sequences > 1) == is_batched &&
            row->peers[v->index][v->variant][v->round] > 0)
            return STATUS_OK;
    }
    return fault_set(fault, STATUS_BAD_INPUT, "%.100s printed no rates, expected %s", program,
                     expected);
}

/* Returns the number of tokens behind which llama-bench generates for the row of a decode. */
static int32_t depth_of(const struct roofline_visit *v, const struct roofline_point *point)
{
    return point->kind == ROOFLINE_DECODE ? point->n_before - v->options->n_generated / 2 : 0;
}

/* The rows of one sequence, by llama-bench. */
static enum status visit_bench(const struct roofline_visit *v, struct fault *fault)
{
    struct str words, out;
    int32_t n_prompt = 0, n_generated = 0, n_depth = 0;
    for (int i = 0; i < v->model->n_rows; i++) {
        const struct roofline_point *point = &v->model->rows[i].point;
        if (point->kind == ROOFLINE_PREFILL)
            n_prompt = point->n_new;
        else if (point->n_sequences == 1)
            n_generated = v->options->n_generated;
        if (point->n_sequences == 1)
            n_depth = max_i32(n_depth, depth_of(v, point));
    }
    if (n_prompt == 0 && n_generated == 0)
        return STATUS_OK;
    str_init(&words);
    str_init(&out);
    str_printf(&words, "-t %d -r 1 -o json -p %d -n %d", v->n_threads, n_prompt, n_generated);
    if (n_depth > 0 && !v->peer->is_ik)
        str_printf(&words, " -d 0,%d", n_depth);
    str_add_char(&words, ' ');
    roofline_peer_flags(v->peer, v->variant, false, &words);
    struct busy before = roofline_busy_now();
    enum status status = run(v->peer->bench, v->model->path, &words, &out, NULL, fault);
    for (int i = 0; i < v->model->n_rows && status == STATUS_OK; i++) {
        struct roofline_row *row = &v->model->rows[i];
        bool is_prefill = row->point.kind == ROOFLINE_PREFILL;
        if (row->point.n_sequences == 1)
            note(v, row,
                 roofline_peer_rate(out.at, is_prefill ? n_prompt : 0, is_prefill ? 0 : n_generated,
                                    depth_of(v, &row->point), v->peer->commit),
                 &before);
    }
    if (status == STATUS_OK)
        status = judge(v, v->peer->bench, false, "a list of tests as JSON", fault);
    str_free(&words);
    str_free(&out);
    return status;
}

/* Batches, by llama-batched-bench. */
static enum status visit_batched(const struct roofline_visit *v, struct fault *fault)
{
    struct str words, out;
    int32_t n_each = BEHIND + v->options->n_generated, n_most = 0;
    for (int i = 0; i < v->model->n_rows; i++)
        n_most = max_i32(n_most, v->model->rows[i].point.n_sequences);
    if (v->peer->batched[0] == '\0' || n_most <= 1)
        return STATUS_OK;
    str_init(&words);
    str_init(&out);
    str_printf(&words, "-t %d -c %d -b 2048 -ub 512 -npp %d -ntg %d -npl %s ", v->n_threads,
               n_each * n_most, BEHIND, v->options->n_generated, n_most > 8 ? "8,32" : "8");
    roofline_peer_flags(v->peer, v->variant, true, &words);
    struct busy before = roofline_busy_now();
    enum status status = run(v->peer->batched, v->model->path, &words, &out, &out, fault);
    for (int i = 0; i < v->model->n_rows && status == STATUS_OK; i++) {
        struct roofline_row *row = &v->model->rows[i];
        if (row->point.n_sequences > 1)
            note(v, row, roofline_peer_batched_rate(out.at, row->point.n_sequences), &before);
    }
    if (status == STATUS_OK)
        status = judge(v, v->peer->batched, true, "a table of ten columns", fault);
    str_free(&words);
    str_free(&out);
    return status;
}

/* Notes the reason, and the rows that lack this program at these flags. */
static void set_aside(const struct roofline_visit *v, bool is_batched, const struct fault *fault)
{
    struct roofline_model *model = v->model;
    char name[64];
    struct str text;
    int n = 0;
    str_init(&text);
    str_printf(&text, "%s; left out with ", fault->text);
    roofline_peer_flags(v->peer, v->variant, is_batched, &text);
    for (int i = 0; i < model->n_rows; i++) {
        const struct roofline_point *point = &model->rows[i].point;
        if ((point->n_sequences > 1) == is_batched)
            str_printf(&text, "%s %s", n++ == 0 ? ":" : ",", roofline_point_name(point, name));
    }
    snprintf(model->failed[model->n_failed++], sizeof(model->failed[0]), "%s", text.at);
    model->is_aside[v->index][v->variant][is_batched] = true;
    str_free(&text);
}

void roofline_peer_round(const struct roofline_visit *visit)
{
    const bool *is_aside = visit->model->is_aside[visit->index][visit->variant];
    struct fault fault;
    if (!is_aside[false] && visit_bench(visit, &fault) != STATUS_OK)
        set_aside(visit, false, &fault);
    if (!is_aside[true] && visit_batched(visit, &fault) != STATUS_OK)
        set_aside(visit, true, &fault);
}

/* ---- Comparison of peers. ---- */

bool roofline_peer_best(const struct roofline_row *row, int peer, int *variant, double *rate)
{
    *rate = 0;
    for (int v = 0; v < ROOFLINE_VARIANTS; v++) {
        double rates[ROOFLINE_ROUNDS];
        int n = 0;
        for (int round = 0; round < row->n_rounds; round++)
            if (row->peers[peer][v][round] > 0)
                rates[n++] = row->peers[peer][v][round];
        double median = roofline_work_median(rates, n);
        if (median > *rate) {
            *rate = median;
            *variant = v;
        }
    }
    return *rate > 0;
}

double roofline_ratio(const struct roofline_row *row, int n_peers, int *peer)
{
    int variant = 0, n = 0;
    double best = 0, ratios[ROOFLINE_ROUNDS];
    for (int i = 0; i < n_peers; i++) {
        int v;
        double rate;
        if (roofline_peer_best(row, i, &v, &rate) && rate > best) {
            best = rate;
            *peer = i;
            variant = v;
        }
    }
    for (int round = 0; round < row->n_rounds && best > 0; round++) {
        double theirs = row->peers[*peer][variant][round];
        if (theirs > 0 && row->ours[round] > 0)
            ratios[n++] = roofline_work_tokens(&row->point) / row->ours[round] / theirs;
    }
    return roofline_work_median(ratios, n);
}
