/* Fields of a struct by name. */
#include "base/settings.h"

#include "base/num.h"
#include "base/str.h"
#include "base/time.h"
#include <string.h>

const struct settings_row *settings_find(const struct settings_row *rows, size_t n,
                                         const char *text)
{
    const char *equals = strchr(text, '=');
    for (size_t i = 0; i < n && equals != NULL; i++) {
        size_t n_name = strlen(rows[i].name);
        if (n_name == (size_t)(equals - text) && memcmp(rows[i].name, text, n_name) == 0)
            return &rows[i];
    }
    return NULL;
}

static void store(void *fields, const struct settings_row *row, double value)
{
    void *at = (unsigned char *)fields + row->offset;
    switch (row->kind) {
    case SETTINGS_COUNT:
    case SETTINGS_WORD:
        *(int32_t *)at = (int32_t)value;
        break;
    case SETTINGS_SEED:
        *(uint64_t *)at = (uint64_t)value;
        break;
    case SETTINGS_BYTES:
        *(int64_t *)at = (int64_t)value;
        break;
    case SETTINGS_MILLISECONDS:
        *(int64_t *)at = (int64_t)num_floor(value * (double)TIME_NS_PER_MS + 0.5);
        break;
    case SETTINGS_NUMBER:
        *(double *)at = value;
        break;
    case SETTINGS_FLAG:
        *(bool *)at = value > 0;
        break;
    }
}

void settings_init(void *fields, const struct settings_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store(fields, &rows[i], rows[i].initial);
}

/* As written. A flag may have bytes of neither value, and then it is out of range. */
static double load(const void *fields, const struct settings_row *row)
{
    const unsigned char *at = (const unsigned char *)fields + row->offset;
    int32_t count = 0;
    int64_t wide = 0;
    double number = 0;
    switch (row->kind) {
    case SETTINGS_COUNT:
    case SETTINGS_WORD:
        memcpy(&count, at, sizeof(count));
        return count;
    case SETTINGS_NUMBER:
        memcpy(&number, at, sizeof(number));
        return number;
    case SETTINGS_FLAG:
        return *at;
    case SETTINGS_MILLISECONDS:
        memcpy(&wide, at, sizeof(wide));
        return (double)wide / (double)TIME_NS_PER_MS;
    case SETTINGS_SEED:
    case SETTINGS_BYTES:
        memcpy(&wide, at, sizeof(wide));
        return (double)wide;
    }
    return -1;
}

bool settings_are_sound(const void *fields, const struct settings_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double value = load(fields, &rows[i]);
        if (!(value >= rows[i].min && value <= rows[i].max)) /* nor NaN */
            return false;
    }
    return true;
}

void settings_add_initial(const struct settings_row *row, struct str *out)
{
    if (row->kind == SETTINGS_WORD)
        str_add_text(out, row->words[(int)row->initial]);
    else
        str_printf(out, "%.15g", row->initial);
}

void settings_add_range(const struct settings_row *row, struct str *out)
{
    for (int i = 0; i < SETTINGS_WORDS && row->kind == SETTINGS_WORD; i++)
        str_printf(out, "%s%s",
                   i == 0                   ? ""
                   : i + 1 < SETTINGS_WORDS ? ", "
                                            : " or ",
                   row->words[i]);
    if (row->kind == SETTINGS_FLAG)
        str_add_text(out, "0 or 1");
    else if (row->kind != SETTINGS_WORD)
        str_printf(out, "%.15g to %.15g%s", row->min, row->max,
                   row->kind == SETTINGS_MILLISECONDS ? " ms" : "");
}

static enum status set_word(void *fields, const struct settings_row *row, const char *word,
                            struct fault *fault)
{
    for (int i = 0; i < SETTINGS_WORDS; i++) {
        if (strcmp(row->words[i], word) != 0)
            continue;
        store(fields, row, i);
        return STATUS_OK;
    }
    return fault_set(fault, STATUS_BAD_INPUT, "%s is %s, %s or %s, not \"%.40s\"", row->name,
                     row->words[0], row->words[1], row->words[2], word);
}

enum status settings_set(void *fields, const struct settings_row *row, const char *text,
                         struct fault *fault)
{
    const char *written = text + strlen(row->name) + 1;
    bool is_milliseconds = row->kind == SETTINGS_MILLISECONDS;
    bool is_whole = !is_milliseconds && row->kind != SETTINGS_NUMBER;
    double value;
    if (row->kind == SETTINGS_WORD)
        return set_word(fields, row, written, fault);
    if (!parse_f64(written, &value) || value < row->min || value > row->max ||
        (is_whole && value != num_floor(value)))
        return fault_set(fault, STATUS_BAD_INPUT, "%s is %s from %g to %g, not \"%.40s\"",
                         row->name,
                         is_whole          ? "a whole number"
                         : is_milliseconds ? "milliseconds"
                                           : "a number",
                         row->min, row->max, written);
    store(fields, row, value);
    return STATUS_OK;
}
