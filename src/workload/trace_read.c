/* Reads traces: figures, lines, checks. It also detects the format of a text. */
#include "workload/trace_read.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)4 << 30)
#define SECONDS_MAX    INT64_C(1000000000000000000)
enum { FIGURE_BYTES = 64, EXPONENT_MAX = 400 }; /* a longer number is none */

enum status workload_trace_read_bad(const struct workload_trace_place *place, const char *fmt, ...)
{
    char text[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return fault_set(place->fault, STATUS_BAD_INPUT, "%s:%zu: %s", place->name, place->line, text);
}

bool workload_trace_read_line(struct view *text, struct view *line)
{
    if (text->n == 0)
        return false;
    const char *end = memchr(text->at, '\n', text->n);
    size_t n = end != NULL ? (size_t)(end - text->at) : text->n;
    *line = view_of(text->at, n);
    size_t taken = end != NULL ? n + 1 : n;
    text->at += taken;
    text->n -= taken;
    if (line->n > 0 && line->at[line->n - 1] == '\r')
        line->n--;
    return true;
}

struct workload_trace_word workload_trace_read_word(struct view field)
{
    struct workload_trace_word word = { "" };
    size_t n = field.n < 40 ? field.n : 40, i = 0;
    for (; i < n; i++)
        word.text[i] = field.at[i] >= ' ' && field.at[i] < 127 ? field.at[i] : '?';
    snprintf(word.text + i, sizeof(word.text) - i, "%s", field.n > n ? "..." : "");
    return word;
}

/* ---- Figures. ---- */

static struct view trim(struct view v)
{
    while (v.n > 0 && (v.at[0] == ' ' || v.at[0] == '\t'))
        v = view_of(v.at + 1, v.n - 1);
    while (v.n > 0 && (v.at[v.n - 1] == ' ' || v.at[v.n - 1] == '\t'))
        v.n--;
    return v;
}

static bool take_digit(struct view *v, int64_t *digit)
{
    if (v->n == 0 || v->at[0] < '0' || v->at[0] > '9')
        return false;
    *digit = v->at[0] - '0';
    *v = view_of(v->at + 1, v->n - 1);
    return true;
}

static bool take_char(struct view *v, char c)
{
    if (v->n == 0 || v->at[0] != c)
        return false;
    *v = view_of(v->at + 1, v->n - 1);
    return true;
}

static bool take_whole(struct view *v, int64_t max, int64_t *out)
{
    int64_t digit;
    bool has_digits = false;
    for (*out = 0; take_digit(v, &digit); has_digits = true) {
        if (*out > (max - digit) / 10)
            return false;
        *out = *out * 10 + digit;
    }
    return has_digits;
}

bool workload_trace_read_i64(struct view field, int64_t min, int64_t max, int64_t *out)
{
    struct view v = trim(field);
    bool is_negative = take_char(&v, '-');
    if (v.n == 0 || v.n > FIGURE_BYTES || !take_whole(&v, INT64_MAX, out))
        return false;
    if (take_char(&v, '.')) /* 12.0, as tables with gaps are often written */
        while (take_char(&v, '0')) {}
    *out = is_negative ? -*out : *out;
    return v.n == 0 && *out >= min && *out <= max;
}

bool workload_trace_read_u64(struct view field, uint64_t *out)
{
    struct view v = trim(field);
    int64_t digit;
    bool has_digits = false;
    for (*out = 0; take_digit(&v, &digit); has_digits = true) {
        if (*out > (UINT64_MAX - (uint64_t)digit) / 10)
            return false;
        *out = *out * 10 + (uint64_t)digit;
    }
    return has_digits && v.n == 0;
}

bool workload_trace_read_f64(struct view field, double *out)
{
    char text[FIGURE_BYTES + 1];
    struct view v = trim(field);
    if (v.n == 0 || v.n > FIGURE_BYTES || memchr(v.at, '\0', v.n) != NULL)
        return false;
    memcpy(text, v.at, v.n);
    text[v.n] = '\0';
    return parse_f64(text, out);
}

/* ---- Times. ---- */

/* A decimal number: its digits, and how many of them precede the point. */
struct decimal {
    char digits[FIGURE_BYTES];
    int n, n_before;
    bool is_negative;
};

static bool take_decimal(struct view *v, struct decimal *out)
{
    int64_t digit, exponent = 0;
    *out = (struct decimal){ .is_negative = take_char(v, '-') };
    if (v->n > FIGURE_BYTES)
        return false;
    for (; take_digit(v, &digit); out->n_before++)
        out->digits[out->n++] = (char)digit;
    if (take_char(v, '.'))
        while (take_digit(v, &digit))
            out->digits[out->n++] = (char)digit;
    if (out->n > 0 && (take_char(v, 'e') || take_char(v, 'E'))) {
        bool is_small = take_char(v, '-');
        if (!is_small)
            take_char(v, '+');
        if (!take_whole(v, EXPONENT_MAX, &exponent))
            return false;
        out->n_before += (int)(is_small ? -exponent : exponent);
    }
    return out->n > 0;
}

/* Returns digit `at` of the number, as if zeros stood on both sides. */
static int64_t digit_at(const struct decimal *d, int at)
{
    return at >= 0 && at < d->n ? d->digits[at] : 0;
}

bool workload_trace_read_time(struct view field, int64_t unit_ns, struct workload_trace_time *out)
{
    struct view v = trim(field);
    struct decimal d;
    if (!take_decimal(&v, &d) || v.n > 0)
        return false;
    int point = d.n_before;
    for (int64_t unit = unit_ns; unit < TIME_NS_PER_S; unit *= 10)
        point--;
    *out = (struct workload_trace_time){ 0, 0 };
    for (int i = min_i32(point, 0); i < point; i++) {
        if (out->s >= SECONDS_MAX / 10)
            return false;
        out->s = 10 * out->s + digit_at(&d, i);
    }
    for (int i = point; i < point + 9; i++)
        out->ns = 10 * out->ns + digit_at(&d, i);
    if (!d.is_negative)
        return true;
    for (int i = max_i32(point + 9, 0); i < d.n; i++)
        if (d.digits[i] != 0) { /* what is cut off: down, as above 0 */
            out->ns++;
            break;
        }
    out->s = -out->s - (out->ns > 0);
    out->ns = out->ns > 0 ? TIME_NS_PER_S - out->ns : 0;
    return true;
}

bool workload_trace_read_ns(struct view field, int64_t unit_ns, int64_t *out)
{
    struct workload_trace_time time;
    if (!workload_trace_read_time(field, unit_ns, &time) || time.s < 0 ||
        time.s >= WORKLOAD_TRACE_NS_MAX / TIME_NS_PER_S)
        return false;
    *out = time.s * TIME_NS_PER_S + time.ns;
    return true;
}

bool workload_trace_read_since(struct workload_trace_origin *origin,
                               struct workload_trace_time time, int64_t *ns)
{
    if (!origin->is_known)
        *origin = (struct workload_trace_origin){ time, true };
    int64_t s = time.s - origin->first.s, most_s = WORKLOAD_TRACE_NS_MAX / TIME_NS_PER_S;
    if (s <= -most_s || s >= most_s)
        return false;
    *ns = s * TIME_NS_PER_S + time.ns - origin->first.ns;
    return true;
}

/* Returns days since 1970-01-01; after Howard Hinnant, chrono-compatible low-level date
 * algorithms. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

bool workload_trace_read_stamp(struct view field, struct workload_trace_time *out)
{
    static const struct {
        char before;
        int64_t min, max;
    } parts[6] = { { 0, 1, 9999 }, { '-', 1, 12 }, { '-', 1, 31 },
                   { ' ', 0, 23 }, { ':', 0, 59 }, { ':', 0, 60 } };
    int64_t x[6];
    struct view v = trim(field);
    for (int i = 0; i < 6; i++) {
        if (parts[i].before == ' ' ? !take_char(&v, ' ') && !take_char(&v, 'T')
                                   : parts[i].before != 0 && !take_char(&v, parts[i].before))
            return false;
        if (!take_whole(&v, parts[i].max, &x[i]) || x[i] < parts[i].min)
            return false;
    }
    int64_t digit;
    out->s = ((days_of(x[0], x[1], x[2]) * 24 + x[3]) * 60 + x[4]) * 60 + x[5];
    out->ns = 0;
    if (take_char(&v, '.'))
        for (int64_t ns = TIME_NS_PER_S / 10; take_digit(&v, &digit); ns /= 10)
            out->ns += digit * ns;
    return v.n == 0 || view_equal_text(v, "Z") || view_equal_text(v, "+00:00");
}

/* ---- Rows. ---- */

enum status workload_trace_read_row(struct workload_trace *trace,
                                    const struct workload_trace_row *row,
                                    const struct workload_trace_place *place)
{
    if (row->n_prompt == 0 || row->n_output == 0) {
        trace->n_skipped++;
        trace->n_blocks = row->n_prefix > 0 ? row->prefix_at : trace->n_blocks;
        return STATUS_OK;
    }
    if (trace->n_rows == WORKLOAD_TRACE_ROWS_MAX)
        return workload_trace_read_bad(place, "more than %d requests", WORKLOAD_TRACE_ROWS_MAX);
    workload_trace_add(trace, row);
    return STATUS_OK;
}

enum status workload_trace_read_prefix(struct workload_trace *trace, struct workload_trace_row *row,
                                       int64_t prefix_tokens,
                                       const struct workload_trace_place *place)
{
    size_t n = trace->n_blocks - row->prefix_at;
    if (trace->n_blocks >= WORKLOAD_TRACE_BLOCKS_MAX)
        return workload_trace_read_bad(place, "more than %d blocks of prefixes",
                                       WORKLOAD_TRACE_BLOCKS_MAX);
    if (n == 0)
        return STATUS_OK;
    if (trace->prefix_tokens != 0 && trace->prefix_tokens != prefix_tokens)
        return workload_trace_read_bad(place, "prefix blocks of %lld tokens after blocks of %d",
                                       (long long)prefix_tokens, trace->prefix_tokens);
    if ((int64_t)n > div_up_i64(row->n_prompt, prefix_tokens))
        return workload_trace_read_bad(place, "%zu prefix blocks of %lld tokens in a prompt of %d",
                                       n, (long long)prefix_tokens, row->n_prompt);
    trace->prefix_tokens = (int32_t)prefix_tokens;
    row->n_prefix = (uint32_t)n;
    return STATUS_OK;
}

/* ---- The whole. ---- */

/* Sorts the rows, and makes times relative to the first. */
static enum status begin_at_first(struct workload_trace *trace, const char *name,
                                  struct fault *fault)
{
    int64_t first_ns = trace->rows[0].arrived_ns;
    if (trace->rows[trace->n_rows - 1].arrived_ns - first_ns > WORKLOAD_TRACE_NS_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: its times are over a century apart", name);
    for (size_t i = 0; i < trace->n_rows; i++)
        trace->rows[i].arrived_ns -= first_ns;
    return STATUS_OK;
}

enum status workload_trace_parse(struct workload_trace *trace, const char *name, struct view text,
                                 struct fault *fault)
{
    enum status status;
    if (view_starts(text, "\xef\xbb\xbf"))
        text = view_of(text.at + 3, text.n - 3);
    workload_trace_init(trace);
    if (text.n > 0 && text.at[0] == '{')
        status = workload_trace_jsonl(trace, name, text, fault);
    else
        status = workload_trace_csv(trace, name, text, fault);
    if (status != STATUS_OK)
        return status;
    if (trace->n_rows == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: no request with a prompt and an output in it", name);
    workload_trace_sort(trace);
    return begin_at_first(trace, name, fault);
}

enum status workload_trace_read(struct workload_trace *trace, const char *path, struct fault *fault)
{
    char *content = NULL;
    size_t n;
    workload_trace_init(trace);
    enum status status = file_read_regular(path, FILE_BYTES_MAX, &content, &n, fault);
    if (status != STATUS_OK)
        return status;
    if (n >= 6 && memcmp(content,
                         "\xfd"
                         "7zXZ",
                         5) == 0)
        status =
            fault_set(fault, STATUS_UNSUPPORTED, "%s is compressed: unpack it first (xz -d)", path);
    else
        status = workload_trace_parse(trace, path, view_of(content, n), fault);
    mem_give(content);
    return status;
}
