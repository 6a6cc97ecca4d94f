/* A verb's own options by argp. */
#include "base/flags.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include <argp.h>
#include <stdio.h>
#include <string.h>

enum { KEY_FIRST = 0x4000, WRONG_BYTES = 96 };

struct parse {
    const struct flags *flags;
    struct flags_given *given;
    const char **plain;
    int n_plain;
    bool is_failed;
};

static bool has_any(const struct flags_row *row)
{
    return row->min == 0 && row->max == 0;
}

static bool is_within(const struct flags_row *row, double value)
{
    return has_any(row) ? value >= 0 : value >= row->min && value <= row->max;
}

static void say_range(const struct flags_row *row, char wrong[WRONG_BYTES])
{
    bool is_duration = row->type == FLAGS_DURATION;
    double one = is_duration ? (double)TIME_NS_PER_S : 1;
    const char *unit = is_duration ? " seconds" : row->type == FLAGS_BYTES ? " bytes" : "";
    if (has_any(row))
        snprintf(wrong, WRONG_BYTES, "is out of range, expected 0%s or more", unit);
    else
        snprintf(wrong, WRONG_BYTES, "is out of range, expected %.16g to %.16g%s", row->min / one,
                 row->max / one, unit);
}

union number {
    int64_t whole;
    double real;
};

static bool read_number(const struct flags_row *row, const char *text, union number *number,
                        char wrong[WRONG_BYTES])
{
    bool is_read = row->type == FLAGS_I64        ? parse_i64(text, &number->whole)
                   : row->type == FLAGS_DURATION ? parse_duration_ns(text, &number->whole)
                   : row->type == FLAGS_BYTES    ? parse_bytes(text, &number->whole)
                                                 : parse_f64(text, &number->real);
    if (!is_read) {
        snprintf(wrong, WRONG_BYTES, "is not a %s",
                 row->type == FLAGS_DURATION ? "duration, as 90s or 10m"
                 : row->type == FLAGS_BYTES  ? "size, as 80GiB"
                 : row->type == FLAGS_I64    ? "whole number"
                                             : "number");
        return false;
    }
    if (!is_within(row, row->type == FLAGS_F64 ? number->real : (double)number->whole)) {
        say_range(row, wrong);
        return false;
    }
    return true;
}

/* Is text a value of the row? False: wrong says what it is. */
static bool is_value(const struct flags_row *row, const char *text, char wrong[WRONG_BYTES])
{
    union number number;
    switch (row->type) {
    case FLAGS_TEXT:
    case FLAGS_FILE:
    case FLAGS_TEXTS:
        return true;
    case FLAGS_SWITCH:
        snprintf(wrong, WRONG_BYTES, "is neither true nor false");
        return text == NULL || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    default:
        return read_number(row, text, &number, wrong);
    }
}

/* Sets a value of the row. False: wrong says why it can't be. */
static bool set(const struct flags_row *row, const char *text, char wrong[WRONG_BYTES])
{
    struct flags_texts *texts = row->value;
    union number number = { 0 };
    if (row->is_given != NULL)
        *row->is_given = true;
    switch (row->type) {
    case FLAGS_TEXT:
    case FLAGS_FILE:
        *(const char **)row->value = text;
        return true;
    case FLAGS_TEXTS:
        if (texts->n == FLAGS_TEXTS_MAX) {
            snprintf(wrong, WRONG_BYTES, "is one too many, expected at most %d", FLAGS_TEXTS_MAX);
            return false;
        }
        texts->at[texts->n++] = text;
        return true;
    case FLAGS_SWITCH:
        *(bool *)row->value = text == NULL || strcmp(text, "true") == 0;
        return true;
    case FLAGS_F64:
        CHECK(read_number(row, text, &number, wrong));
        *(double *)row->value = number.real;
        return true;
    default:
        CHECK(read_number(row, text, &number, wrong));
        *(int64_t *)row->value = number.whole;
        return true;
    }
}

static enum status check_value(const struct flags_row *row, const char *text, struct fault *fault)
{
    char wrong[WRONG_BYTES];
    struct fault inner;
    if (!is_value(row, text, wrong))
        return fault_set(fault, STATUS_BAD_INPUT, "%s: \"%.80s\" %s", row->name, text, wrong);
    if (row->type == FLAGS_FILE && file_may_write(text, &inner) != STATUS_OK)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %.200s", row->name, inner.text);
    return STATUS_OK;
}

static enum status set_value(const struct flags_row *row, const char *text, struct fault *fault)
{
    char wrong[WRONG_BYTES];
    if (set(row, text, wrong))
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT, "%s: \"%.80s\" %s", row->name, text, wrong);
}

enum status flags_assign(const struct flags_row *row, const char *text, struct fault *fault)
{
    enum status status = check_value(row, text, fault);
    return status == STATUS_OK ? set_value(row, text, fault) : status;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    const struct flags *flags = parse->flags;
    struct fault fault;
    if (key >= KEY_FIRST && key < KEY_FIRST + flags->n_rows) {
        int row = key - KEY_FIRST;
        parse->given->at[parse->given->n++] = (struct flags_said){ row, arg };
        if (check_value(&flags->rows[row], arg, &fault) == STATUS_OK)
            return 0;
        fprintf(stderr, "shoal: --%s\n", fault.text);
        parse->is_failed = true;
        return 0;
    }
    switch (key) {
    case ARGP_KEY_ARG:
        if (parse->n_plain == flags->n_plain_max)
            argp_error(state, "\"%.80s\" is one argument too many", arg);
        parse->plain[parse->n_plain++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (parse->n_plain < flags->n_plain_min)
            argp_error(state, "expected %s", flags->arguments);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

bool flags_read(const struct flags *flags, int argc, char **argv, struct flags_given *given,
                const char **plain, int *n_plain)
{
    struct argp_option options[FLAGS_ROWS_MAX + 1];
    struct parse parse = { .flags = flags, .given = given, .plain = plain };
    CHECK(flags->n_rows <= FLAGS_ROWS_MAX);
    *given = (struct flags_given){ mem_take((size_t)max_i32(argc, 1) * sizeof(*given->at)), 0 };
    memset(options, 0, sizeof(options));
    for (int i = 0; i < flags->n_rows; i++) {
        const struct flags_row *row = &flags->rows[i];
        options[i] = (struct argp_option){
            row->name, KEY_FIRST + i, row->type == FLAGS_SWITCH ? NULL : row->word, 0, row->help, 0
        };
    }
    const struct argp argp = {
        options, parse_option, flags->arguments, flags->doc, NULL, NULL, NULL
    };
    int error = argp_parse(&argp, argc, argv, 0, NULL, &parse);
    if (error != 0) {
        fprintf(stderr, "shoal: the command line can't be read: %s\n", strerror(error));
        return false;
    }
    *n_plain = parse.n_plain;
    return !parse.is_failed;
}

bool flags_apply(const struct flags *flags, const struct flags_given *given)
{
    struct fault fault;
    bool is_fine = true;
    for (int i = 0; i < given->n; i++) {
        if (set_value(&flags->rows[given->at[i].row], given->at[i].text, &fault) == STATUS_OK)
            continue;
        fprintf(stderr, "shoal: --%s\n", fault.text);
        is_fine = false;
    }
    return is_fine;
}

bool flags_has(const struct flags *flags, const struct flags_given *given, const char *name)
{
    for (int i = 0; i < given->n; i++)
        if (strcmp(flags->rows[given->at[i].row].name, name) == 0)
            return true;
    return false;
}

void flags_free(struct flags_given *given)
{
    mem_give(given->at);
}

bool flags_parse(const struct flags *flags, int argc, char **argv, const char **plain, int *n_plain)
{
    struct flags_given given;
    bool is_fine =
        flags_read(flags, argc, argv, &given, plain, n_plain) && flags_apply(flags, &given);
    flags_free(&given);
    return is_fine;
}
