/* Links between devices: readers of nvidia-smi's matrix and of CSV, and their times. */
#include "place/links.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "predict/csv.h"
#include <stdio.h>
#include <string.h>

#define GBYTES_MIN 1e-6 /* slower ones make times that our integers cannot hold */
enum { WORDS_MAX = LINKS_DEVICES_MAX + 8, WORD_BYTES = 16 };

/* PCIe 4.0 x16 if no file has a better figure. The latencies of PIX and NODE are those of UELLM's
 * cluster, and longer paths count as one more hop each. NVLink: 25 GB/s each link and direction
 * (A100). */
static const struct {
    const char *word;
    struct links_link link;
} words[] = {
    { "PIX", { 10000, 24e9 } },  { "PXB", { 12000, 22e9 } }, { "PHB", { 15000, 20e9 } },
    { "NODE", { 20000, 16e9 } }, { "SYS", { 30000, 10e9 } },
};

bool links_word(const char *word, struct links_link *out)
{
    int64_t n_links;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(word, words[i].word) == 0) {
            *out = words[i].link;
            return true;
        }
    }
    if (strncmp(word, "NV", 2) != 0 || !parse_i64(word + 2, &n_links) || n_links < 1 ||
        n_links > 64)
        return false;
    *out = (struct links_link){ 5000, 25e9 * (double)n_links };
    return true;
}

/* ---- nvidia-smi topo -m. ---- */

/* Reads the next word of a line. Returns false at its end. */
static bool next_word(const char **at, char word[WORD_BYTES])
{
    size_t n = 0;
    while (**at == ' ' || **at == '\t' || **at == '\r')
        (*at)++;
    while (**at != '\0' && **at != '\n' && **at != ' ' && **at != '\t' && **at != '\r') {
        if (n + 1 < WORD_BYTES)
            word[n++] = **at;
        (*at)++;
    }
    word[n] = '\0';
    return n > 0;
}

static int32_t count_devices(const char *header)
{
    char word[WORD_BYTES];
    int32_t n = 0;
    while (n < WORDS_MAX && next_word(&header, word) && strncmp(word, "GPU", 3) == 0 &&
           word[3] >= '0' && word[3] <= '9')
        n++;
    return n;
}

static enum status read_row(struct links *links, int32_t row, const char *at, struct fault *fault)
{
    char word[WORD_BYTES];
    for (int32_t c = 0; c < links->n; c++) {
        struct links_link *link = &links->at[row * links->n + c];
        if (!next_word(&at, word))
            return fault_set(fault, STATUS_BAD_INPUT, "links: the row of GPU%d has %d of %d words",
                             row, c, links->n);
        if (strcmp(word, "X") == 0 ? row != c : row == c || !links_word(word, link))
            return fault_set(fault, STATUS_BAD_INPUT, "links: GPU%d to GPU%d: \"%s\" is no link",
                             row, c, word);
    }
    return STATUS_OK;
}

static enum status read_matrix(struct links *links, const char *text, struct fault *fault)
{
    char word[WORD_BYTES], wanted[WORD_BYTES];
    int32_t row = 0;
    links->n = count_devices(text);
    if (links->n < 1 || links->n > LINKS_DEVICES_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "links: the matrix names %d devices: 1 to %d",
                         links->n, LINKS_DEVICES_MAX);
    links->at = mem_take((size_t)links->n * (size_t)links->n * sizeof(links->at[0]));
    for (const char *line = strchr(text, '\n'); line != NULL && row < links->n;
         line = strchr(line, '\n')) {
        line++;
        const char *at = line;
        if (!next_word(&at, word))
            continue;
        snprintf(wanted, sizeof(wanted), "GPU%d", row);
        if (strcmp(word, wanted) != 0)
            return fault_set(fault, STATUS_BAD_INPUT, "links: \"%s\" where %s was expected", word,
                             wanted);
        enum status status = read_row(links, row++, at, fault);
        if (status != STATUS_OK)
            return status;
    }
    if (row < links->n)
        return fault_set(fault, STATUS_BAD_INPUT, "links: %d of %d rows", row, links->n);
    return STATUS_OK;
}

/* ---- CSV. ---- */

struct columns {
    int from, to, us, gbytes;
};

static enum status find_columns(struct csv *csv, const char *text, struct columns *columns,
                                struct fault *fault)
{
    enum status status = csv_open(csv, text, fault);
    if (status != STATUS_OK)
        return status;
    columns->from = csv_column(csv, "from", fault);
    columns->to = columns->from < 0 ? -1 : csv_column(csv, "to", fault);
    columns->us = columns->to < 0 ? -1 : csv_column(csv, "us", fault);
    columns->gbytes = columns->us < 0 ? -1 : csv_column(csv, "gbytes_per_s", fault);
    return columns->gbytes < 0 ? STATUS_BAD_INPUT : STATUS_OK;
}

/* Returns the number in a cell, in [0, max]; -1 if it is not such a number. */
static double cell_of(const struct csv *csv, int column, double max)
{
    struct view cell = csv->cells[column];
    char text[32];
    double value;
    if (cell.n == 0 || cell.n >= sizeof(text))
        return -1;
    memcpy(text, cell.at, cell.n);
    text[cell.n] = '\0';
    return parse_f64(text, &value) && value >= 0 && value <= max ? value : -1;
}

/* One row: two devices and their link. */
static enum status read_line(const struct csv *csv, const struct columns *c, int32_t pair[2],
                             struct links_link *link, struct fault *fault)
{
    double from = cell_of(csv, c->from, LINKS_DEVICES_MAX - 1);
    double to = cell_of(csv, c->to, LINKS_DEVICES_MAX - 1);
    double us = cell_of(csv, c->us, 1e8), gbytes = cell_of(csv, c->gbytes, 1e6);
    if (from < 0 || to < 0 || from != num_floor(from) || to != num_floor(to) || from == to)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "links: line %d: from and to are two devices, 0 to %d", csv->line,
                         LINKS_DEVICES_MAX - 1);
    if (us < 0 || gbytes < 0 || (gbytes > 0 && gbytes < GBYTES_MIN))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "links: line %d: us is 0 to 1e8, gbytes_per_s 0 or 1e-6 to 1e6",
                         csv->line);
    pair[0] = (int32_t)from;
    pair[1] = (int32_t)to;
    *link = (struct links_link){ (int64_t)(us * 1000 + 0.5), gbytes * 1e9 };
    return STATUS_OK;
}

static enum status read_csv(struct links *links, const char *text, struct fault *fault)
{
    struct csv csv;
    struct columns columns;
    struct links_link link;
    int32_t pair[2], n = 0;
    enum status status = find_columns(&csv, text, &columns, fault);
    while (status == STATUS_OK && csv_next(&csv)) {
        status = read_line(&csv, &columns, pair, &link, fault);
        n = status == STATUS_OK ? max_i32(n, 1 + max_i32(pair[0], pair[1])) : n;
    }
    if (status == STATUS_OK && n == 0)
        return fault_set(fault, STATUS_BAD_INPUT, "links: no rows");
    if (status != STATUS_OK)
        return status;
    links->n = n;
    links->at = mem_take((size_t)n * (size_t)n * sizeof(links->at[0]));
    bool *is_named = mem_take((size_t)n * (size_t)n);
    status = find_columns(&csv, text, &columns, fault);
    while (status == STATUS_OK && csv_next(&csv)) {
        status = read_line(&csv, &columns, pair, &link, fault);
        int32_t there = pair[0] * n + pair[1], back = pair[1] * n + pair[0];
        links->at[there] = link;
        is_named[there] = true;
        if (!is_named[back])
            links->at[back] = link;
    }
    for (int32_t i = 0; i < n * n && status == STATUS_OK; i++)
        if (i / n != i % n && !is_named[i] && !is_named[i % n * n + i / n])
            status = fault_set(fault, STATUS_BAD_INPUT, "links: none from %d to %d", i / n, i % n);
    mem_give(is_named);
    return status;
}

enum status links_read(struct links *links, const char *text, struct fault *fault)
{
    const char *at = text;
    char word[WORD_BYTES];
    while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
        at++;
    const char *first = at;
    if (next_word(&at, word) && strncmp(word, "GPU", 3) == 0)
        return read_matrix(links, first, fault);
    return read_csv(links, text, fault);
}

void links_free(struct links *links)
{
    mem_give(links->at);
    *links = (struct links){ 0 };
}

int64_t links_time(const struct links_link *link, int64_t n_bytes)
{
    double ps = (double)link->latency_ns * 1000;
    ps += link->bytes_per_s > 0 ? 1e12 * (double)n_bytes / link->bytes_per_s : 0;
    return (int64_t)(ps + 0.5);
}

void links_times(const struct links *links, int64_t n_bytes, int64_t *link_ps)
{
    for (int32_t i = 0; i < links->n * links->n; i++)
        link_ps[i] = i / links->n == i % links->n ? 0 : links_time(&links->at[i], n_bytes);
}
