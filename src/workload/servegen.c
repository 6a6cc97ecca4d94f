/* Makes ServeGen's clients from its published files. Each is one source, with its own rate by the
 * clock, gaps and lengths (arXiv 2505.09999).
 *
 * A folder holds clients.csv (model,client,t0_s,rate_rps,cv,dist,p1,p2: a line per client and
 * active window of 600 s) and lengths.tsv (model, client, t0_s, field, n, then value:count ...:
 * histograms of windows of 6 h). The first window of clients.csv is time zero. A client's gaps keep
 * one shape, the mean over its windows by rate. Its prompts and outputs are drawn separately, as
 * ServeGen does. A client without lengths gets those of all others, each weighted by its rate,
 * because the number of its published lengths means nothing. */
#include "base/file.h"
#include "base/mem.h"
#include "workload/part.h"
#include "workload/trace_read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW_S = 600,
    WINDOWS_MAX = 60 * 144,
    CLIENTS_MAX = 2048,
    PAIRS = 2048,
    LENGTHS_WINDOW_S = 6 * 3600,
};
#define CLOCK_S_MAX (INT64_C(1) << 53)

struct bin {
    int32_t value;
    double count;
};
struct histogram {
    struct bin *bins;
    size_t n, capacity;
};
struct client {
    int64_t id;
    double rate, gamma_rate, cv_sum, shape_sum; /* over windows; the last two weighted by rate */
    double *rates;                              /* (n_windows) */
    struct histogram lengths[2];                /* prompts, outputs */
};
struct servegen {
    struct workload_part *part;
    struct workload_trace_place place;
    const char *model;
    int64_t first_s; /* of all windows, on the files' clock */
    int64_t from_s, to_s;
    uint32_t n_windows, n_clients;
    struct client clients[CLIENTS_MAX];
    struct histogram pooled[2];
};

static struct view cut(struct view *line, char at)
{
    const char *end = line->n > 0 ? memchr(line->at, at, line->n) : NULL;
    struct view field = view_of(line->at, end != NULL ? (size_t)(end - line->at) : line->n);
    size_t taken = field.n + (end != NULL);
    *line = view_of(line->at + taken, line->n - taken);
    return field;
}

/* CLIENTS_MAX: there are too many. */
static uint32_t find_client(struct servegen *s, int64_t id, bool adds)
{
    uint32_t i = 0;
    while (i < s->n_clients && s->clients[i].id != id)
        i++;
    if (i < s->n_clients || !adds || i == CLIENTS_MAX)
        return i == s->n_clients ? CLIENTS_MAX : i;
    s->clients[i] = (struct client){ .id = id };
    s->clients[i].rates = mem_take(s->n_windows * sizeof(double));
    s->n_clients++;
    return i;
}

/* A window's beginning, since the first. */
static bool read_t0(const struct servegen *s, struct view field, int64_t *t0_s)
{
    if (!workload_trace_read_i64(field, -CLOCK_S_MAX, CLOCK_S_MAX, t0_s))
        return false;
    *t0_s -= s->first_s;
    return true;
}

/* ---- clients.csv ---- */

/* Lines that are wrong are read_client's to name. */
static enum status find_first(struct servegen *s, struct view line)
{
    int64_t t0_s;
    cut(&line, ',');
    cut(&line, ',');
    if (workload_trace_read_i64(cut(&line, ','), -CLOCK_S_MAX, CLOCK_S_MAX, &t0_s))
        s->first_s = min_i64(s->first_s, t0_s);
    return STATUS_OK;
}

static enum status read_client(struct servegen *s, struct view line)
{
    int64_t id, t0_s;
    double rate, cv, p1;
    struct view model = cut(&line, ','), client = cut(&line, ','), t0 = cut(&line, ','),
                rps = cut(&line, ','), variation = cut(&line, ','), dist = cut(&line, ','),
                shape = cut(&line, ',');
    bool is_gamma = view_equal_text(dist, "Gamma");
    if (!workload_trace_read_i64(client, 0, INT32_MAX, &id) || !read_t0(s, t0, &t0_s) ||
        !workload_trace_read_f64(rps, &rate) || !workload_trace_read_f64(variation, &cv) ||
        !workload_trace_read_f64(shape, &p1) || !(rate >= 0 && rate < 1e7) ||
        !(cv >= 0 && cv < 1e6) || !(p1 > 0 && p1 < 1e6) ||
        (!is_gamma && !view_equal_text(dist, "Weibull")))
        return workload_trace_read_bad(
            &s->place, "not model,client,t0_s,rate_rps,cv,Gamma|Weibull,shape,scale");
    if (!view_equal_text(model, s->model) || t0_s < s->from_s || t0_s >= s->to_s)
        return STATUS_OK;
    uint32_t at = find_client(s, id, true);
    if (at == CLIENTS_MAX)
        return workload_trace_read_bad(&s->place, "more than %d clients", CLIENTS_MAX);
    struct client *c = &s->clients[at];
    c->rates[(t0_s - s->from_s) / WINDOW_S] += rate;
    c->rate += rate;
    c->gamma_rate += is_gamma ? rate : 0;
    c->cv_sum += rate * cv;
    c->shape_sum += is_gamma ? 0 : rate * p1;
    return STATUS_OK;
}

/* ---- lengths.tsv ---- */

static void add_bin(struct histogram *h, int32_t value, double count)
{
    if (h->n == h->capacity) {
        size_t capacity = h->capacity > 0 ? 2 * h->capacity : 256;
        h->bins = mem_grow(h->bins, h->capacity * sizeof(*h->bins), capacity * sizeof(*h->bins));
        h->capacity = capacity;
    }
    h->bins[h->n++] = (struct bin){ value, count };
}

/* The windows of lengths are longer, so the one that contains the time `from` is used too. */
static enum status read_lengths(struct servegen *s, struct view line)
{
    int64_t id, t0_s;
    struct view model = cut(&line, '\t'), client = cut(&line, '\t'), t0 = cut(&line, '\t'),
                field = cut(&line, '\t');
    int which = view_equal_text(field, "input_tokens")    ? 0
                : view_equal_text(field, "output_tokens") ? 1
                                                          : 2;
    cut(&line, '\t');
    if (!workload_trace_read_i64(client, 0, INT32_MAX, &id) || !read_t0(s, t0, &t0_s))
        return workload_trace_read_bad(&s->place,
                                       "not model, client, t0_s, field, n, value:count ...");
    if (which == 2 || !view_equal_text(model, s->model) || t0_s + LENGTHS_WINDOW_S <= s->from_s ||
        t0_s >= s->to_s)
        return STATUS_OK;
    uint32_t at = find_client(s, id, false);
    while (line.n > 0) {
        struct view pair = cut(&line, ' ');
        struct view value = cut(&pair, ':');
        double tokens, count;
        if (!workload_trace_read_f64(value, &tokens) || !workload_trace_read_f64(pair, &count) ||
            !(tokens >= 0 && tokens <= LIMIT_CONTEXT) || !(count >= 0 && count < 1e12))
            return workload_trace_read_bad(&s->place, "\"%s\" is not value:count",
                                           workload_trace_read_word(value).text);
        if (tokens < 1 || count <= 0)
            continue;
        if (at < CLIENTS_MAX)
            add_bin(&s->clients[at].lengths[which], (int32_t)tokens, count);
    }
    return STATUS_OK;
}

/* ---- Sources. ---- */

static int compare_bins(const void *a, const void *b)
{
    const struct bin *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static bool has_lengths(const struct client *c)
{
    return c->lengths[0].n > 0 && c->lengths[1].n > 0;
}

/* Pools the lengths of all clients that have some, weighted by their rates. */
static void pool_lengths(struct servegen *s, int which)
{
    for (uint32_t i = 0; i < s->n_clients; i++) {
        const struct client *c = &s->clients[i];
        const struct histogram *h = &c->lengths[which];
        double total = 0;
        for (size_t k = 0; k < h->n; k++)
            total += h->bins[k].count;
        for (size_t k = 0; k < h->n && has_lengths(c) && c->rate > 0; k++)
            add_bin(&s->pooled[which], h->bins[k].value, h->bins[k].count / total * c->rate);
    }
}

/* PAIRS lengths at even steps of the distribution. */
static bool spread(struct histogram *h, int32_t *lengths)
{
    double total = 0, sum = 0;
    if (h->n == 0)
        return false;
    qsort(h->bins, h->n, sizeof(*h->bins), compare_bins);
    for (size_t i = 0; i < h->n; i++)
        total += h->bins[i].count;
    size_t at = 0;
    for (uint32_t i = 0; i < PAIRS; i++) {
        double p = (i + 0.5) / PAIRS * total;
        while (at + 1 < h->n && sum + h->bins[at].count <= p)
            sum += h->bins[at++].count;
        lengths[i] = h->bins[at].value;
    }
    return true;
}

static const struct workload_pair *make_pairs(struct servegen *s, struct client *c)
{
    struct workload_pair *pairs = workload_part_take(s->part, PAIRS * sizeof(*pairs));
    int32_t lengths[2][PAIRS];
    struct rng rng;
    for (int i = 0; i < 2; i++)
        if (!spread(has_lengths(c) ? &c->lengths[i] : &s->pooled[i], lengths[i]))
            return NULL;
    rng_init(&rng, (uint64_t)c->id, 1);
    for (uint32_t i = PAIRS; i-- > 0;) {
        uint32_t k = rng_below(&rng, i + 1);
        pairs[i] = (struct workload_pair){ lengths[0][i], lengths[1][k] };
        lengths[1][k] = lengths[1][i];
    }
    return pairs;
}

static enum status add_source(struct servegen *s, struct client *c, int32_t service, double factor)
{
    float *factors = workload_part_take(s->part, s->n_windows * sizeof(*factors));
    struct workload_profile *profile = workload_part_take(s->part, sizeof(*profile));
    double mean = c->rate / s->n_windows;
    for (uint32_t i = 0; i < s->n_windows; i++)
        factors[i] = (float)(c->rates[i] / mean);
    *profile =
        (struct workload_profile){ workload_part_number(s->part, WORKLOAD_KEY_STEP, WINDOW_S),
                                   s->n_windows, factors };
    struct workload_traffic traffic = {
        .rate_per_s = mean * factor, .pairs = make_pairs(s, c), .n_pairs = PAIRS, .profile = profile
    };
    double weibull_rate = c->rate - c->gamma_rate;
    double cv = c->cv_sum / c->rate;
    traffic.arrivals = weibull_rate > c->gamma_rate ? WORKLOAD_WEIBULL : WORKLOAD_GAMMA;
    traffic.cv = cv > 0.05 ? cv : 0.05;
    traffic.shape = weibull_rate > 0 ? c->shape_sum / weibull_rate : 1;
    traffic.shape = traffic.shape > 0.05 ? traffic.shape : 0.05;
    if (traffic.pairs == NULL)
        return workload_part_bad(s->part, "no lengths of %.40s in these hours", s->model);
    enum status status = workload_lengths_bound(s->part, &traffic.filter);
    if (status == STATUS_OK)
        workload_part_add(s->part, service, &traffic);
    return status;
}

static enum status add_sources(struct servegen *s)
{
    struct workload_part *part = s->part;
    double total = 0, rate;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < s->n_clients; i++)
        total += s->clients[i].rate / s->n_windows;
    if (!(total > 0))
        return workload_part_bad(part, "no clients of %.40s in these hours", s->model);
    rate = workload_part_number(part, WORKLOAD_KEY_RATE, total);
    int32_t service =
        workload_part_service(part, workload_part_text(part, WORKLOAD_KEY_SERVICE, s->model),
                              workload_part_text(part, WORKLOAD_KEY_MODEL, NULL));
    if (service < 0)
        return STATUS_BAD_INPUT;
    for (uint32_t i = 0; i < s->n_clients && status == STATUS_OK; i++)
        if (s->clients[i].rate > 0)
            status = add_source(s, &s->clients[i], service, rate / total);
    return status;
}

/* ---- The files. ---- */

static enum status read_file(struct servegen *s, const char *name, bool has_head,
                             enum status (*read)(struct servegen *s, struct view line))
{
    char path[512];
    char *content = NULL;
    size_t n;
    struct view text, line;
    snprintf(path, sizeof(path), "%s/%s", s->part->path, name);
    enum status status = file_read_regular(path, (size_t)1 << 30, &content, &n, s->part->fault);
    if (status != STATUS_OK)
        return status;
    text = view_of(content, n);
    s->place = (struct workload_trace_place){ path, 0, s->part->fault };
    while (status == STATUS_OK && workload_trace_read_line(&text, &line)) {
        s->place.line++;
        if (line.n > 0 && (s->place.line > 1 || !has_head))
            status = read(s, line);
    }
    mem_give(content);
    return status;
}

enum status workload_servegen(struct workload_part *part)
{
    struct servegen *s = mem_take(sizeof(*s));
    s->part = part;
    s->model = workload_part_text(part, WORKLOAD_KEY_CLIENTS, "m-large");
    s->from_s = (int64_t)workload_part_number(part, WORKLOAD_KEY_FROM, 0) / WINDOW_S * WINDOW_S;
    s->to_s = (int64_t)workload_part_number(part, WORKLOAD_KEY_TO, (double)s->from_s + 86400);
    int64_t n_windows = (s->to_s - s->from_s) / WINDOW_S;
    s->n_windows = (uint32_t)min_i64(max_i64(n_windows, 0), WINDOWS_MAX);
    s->to_s = s->from_s + (int64_t)s->n_windows * WINDOW_S;
    enum status status = s->n_windows > 0 && n_windows <= WINDOWS_MAX &&
                                 !(workload_part_number(part, WORKLOAD_KEY_STEP, 1) < 1e-3)
                             ? STATUS_OK
                             : workload_part_bad(part, "from and to are 10 minutes to 60 days "
                                                       "apart, a step takes at least 1ms");
    s->first_s = INT64_MAX;
    if (status == STATUS_OK)
        status = read_file(s, "clients.csv", true, find_first);
    if (s->first_s == INT64_MAX)
        s->first_s = 0;
    if (status == STATUS_OK)
        status = read_file(s, "clients.csv", true, read_client);
    if (status == STATUS_OK)
        status = read_file(s, "lengths.tsv", false, read_lengths);
    for (int which = 0; which < 2 && status == STATUS_OK; which++)
        pool_lengths(s, which);
    if (status == STATUS_OK)
        status = add_sources(s);
    for (uint32_t i = 0; i < s->n_clients; i++) {
        mem_give(s->clients[i].rates);
        mem_give(s->clients[i].lengths[0].bins);
        mem_give(s->clients[i].lengths[1].bins);
    }
    mem_give(s->pooled[0].bins);
    mem_give(s->pooled[1].bins);
    mem_give(s);
    return status;
}
