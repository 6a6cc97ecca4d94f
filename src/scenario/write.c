/* Writes a scenario by the tables of its parts, in the order in which people read one. */
#include "scenario/write.h"

#include "base/mem.h"
#include <string.h>

/* In double quotes, as YAML reads it. */
static void add_quoted(struct str *out, const char *text)
{
    str_add_char(out, '"');
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20)
            str_printf(out, "\\x%02x", (unsigned)(unsigned char)*text);
        else if (*text == '"' || *text == '\\')
            str_printf(out, "\\%c", *text);
        else
            str_add_char(out, *text);
    }
    str_add_char(out, '"');
}

static void add_list(struct str *out, const char *indent, const char *name,
                     const struct flags_texts *texts)
{
    for (int i = 0; i < texts->n; i++) {
        str_printf(out, i == 0 ? "%s%s: [" : ", ", indent, name);
        add_quoted(out, texts->at[i]);
    }
    str_add_text(out, texts->n > 0 ? "]" : "");
}

/* A list of the top: a line each. */
static void add_lines(struct str *out, const char *key, const struct flags_texts *texts)
{
    if (texts->n == 0)
        return;
    str_printf(out, "%s:\n", key);
    for (int i = 0; i < texts->n; i++) {
        str_add_text(out, "  - ");
        add_quoted(out, texts->at[i]);
        str_add_char(out, '\n');
    }
}

/* Is it the default, and was it not given? */
static bool is_left_out(const struct flags_row *row, const struct flags_row *usual)
{
    if (row->is_given != NULL && *row->is_given)
        return false;
    if (row->type == FLAGS_TEXTS)
        return ((const struct flags_texts *)row->value)->n == 0;
    if (row->type == FLAGS_SWITCH)
        return !*(const bool *)row->value;
    if (row->type == FLAGS_F64)
        return !(*(const double *)row->value < *(const double *)usual->value) &&
               !(*(const double *)row->value > *(const double *)usual->value);
    if (row->type != FLAGS_TEXT && row->type != FLAGS_FILE)
        return *(const int64_t *)row->value == *(const int64_t *)usual->value;
    const char *text = *(const char *const *)row->value,
               *other = *(const char *const *)usual->value;
    return text == NULL || (other != NULL && strcmp(text, other) == 0);
}

/* A line: its name and its value. */
static void add_row(struct str *out, const char *indent, const struct flags_row *row,
                    const struct flags_row *usual)
{
    const void *value = row->value;
    if (is_left_out(row, usual))
        return;
    if (row->type == FLAGS_TEXTS) {
        add_list(out, indent, row->name, value);
        str_add_char(out, '\n');
        return;
    }
    str_printf(out, "%s%s: ", indent, row->name);
    if (row->type == FLAGS_TEXT || row->type == FLAGS_FILE)
        add_quoted(out, *(const char *const *)value);
    else if (row->type == FLAGS_F64)
        str_printf(out, "%.17g", *(const double *)value);
    else if (row->type == FLAGS_SWITCH)
        str_add_text(out, "true");
    else
        str_printf(out, row->type == FLAGS_DURATION ? "%lldns" : "%lld",
                   (long long)*(const int64_t *)value);
    str_add_char(out, '\n');
}

/* Writes settings with a line for each; usual has the defaults. */
static void add_settings(struct str *out, struct scenario *s, struct scenario *usual)
{
    struct flags_row rows[SCENARIO_ROWS_MAX], defaults[SCENARIO_ROWS_MAX];
    int n = scenario_rows(s, rows);
    (void)scenario_rows(usual, defaults);
    for (int i = 0; i < n; i++)
        if (rows[i].type == FLAGS_TEXTS)
            add_lines(out, rows[i].name, rows[i].value);
    for (int i = 0; i < n; i++)
        if (rows[i].type != FLAGS_TEXTS)
            add_row(out, "", &rows[i], &defaults[i]);
}

static void add_services(struct str *out, struct scenario *s)
{
    struct scenario_service none = { 0 };
    struct flags_row rows[SCENARIO_ROWS_MAX], defaults[SCENARIO_ROWS_MAX];
    (void)scenario_service_rows(&none, defaults);
    str_add_text(out, s->n_services > 0 ? "services:\n" : "");
    for (int i = 0; i < s->n_services; i++) {
        int n = scenario_service_rows(&s->services[i], rows);
        str_add_text(out, "  ");
        add_quoted(out, s->services[i].name);
        str_add_text(out, ":\n");
        for (int r = 0; r < n; r++)
            add_row(out, "    ", &rows[r], &defaults[r]);
    }
}

/* A word needs no quotes. */
static void add_word(struct str *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    bool is_word = text[0] >= 'a' && text[0] <= 'z' && text[strspn(text, plain)] == '\0';
    if (is_word)
        str_add_text(out, text);
    else
        add_quoted(out, text);
}

/* An engine or a node on a line of its own. */
static void add_item(struct str *out, const struct flags_row *rows, const struct flags_row *usual,
                     int n)
{
    const char *before = "  - {";
    for (int i = 0; i < n; i++) {
        const struct flags_row *row = &rows[i];
        if (is_left_out(row, &usual[i]))
            continue;
        str_add_text(out, before);
        before = ", ";
        if (row->type == FLAGS_TEXTS)
            add_list(out, "", row->name, row->value);
        else
            str_printf(out, "%s: ", row->name);
        if (row->type == FLAGS_TEXT)
            add_word(out, *(const char *const *)row->value);
        else if (row->type == FLAGS_F64)
            str_printf(out, "%.17g", *(const double *)row->value);
        else if (row->type != FLAGS_TEXTS)
            str_printf(out, "%lld", (long long)*(const int64_t *)row->value);
    }
    str_add_text(out, "}\n");
}

static void add_engines(struct str *out, struct scenario *s)
{
    struct scenario_node no_node = { 0 };
    struct scenario_group no_group = { 0 };
    struct flags_row rows[SCENARIO_ROWS_MAX], usual[SCENARIO_ROWS_MAX];
    (void)scenario_node_rows(&no_node, usual);
    str_add_text(out, s->n_nodes > 0 ? "nodes:\n" : "");
    for (int i = 0; i < s->n_nodes; i++)
        add_item(out, rows, usual, scenario_node_rows(&s->nodes[i], rows));
    (void)scenario_group_rows(&no_group, usual);
    str_add_text(out, s->n_groups > 0 ? "engines:\n" : "");
    for (int i = 0; i < s->n_groups; i++)
        add_item(out, rows, usual, scenario_group_rows(&s->groups[i], rows));
}

void scenario_write(const struct scenario *scenario, struct str *out)
{
    struct scenario *s = mem_take(sizeof(*s)), *usual = mem_take(sizeof(*usual));
    *s = *scenario; /* rows point at fields that may be changed */
    scenario_init(usual);
    add_settings(out, s, usual);
    add_services(out, s);
    add_engines(out, s);
    scenario_close(usual);
    mem_give(usual);
    mem_give(s);
}
