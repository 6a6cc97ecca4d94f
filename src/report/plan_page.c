/* Draws the page of a plan: nodes are rows of devices, and an engine is a box over its devices. */
#include "report/plan.h"

#include <string.h>

enum { CELL = 92, ROW = 64, LEFT = 120, CELLS_PER_LINE = 16, NAME_CHARS = 14 };

static const char head[] =
    "<!doctype html><meta charset=\"utf-8\"><title>Shoal: a plan</title><style>body{font:15px/1.45 "
    "system-ui,sans-serif;margin:24px auto;max-width:1680px;padding:0 16px;color:#1b1f24;"
    "background:#fff}pre{overflow-x:auto;font-size:12px}svg{max-width:100%}svg text{font:11px "
    "system-ui,sans-serif;fill:currentColor}.d{fill:none;stroke:currentColor;stroke-opacity:.25}"
    ".e{stroke:currentColor;stroke-opacity:.5;fill-opacity:.25}@media(prefers-color-scheme:dark)"
    "{body{background:#15181c;color:#dfe3e8}}</style><h1>The plan</h1>\n";

/* Escapes names, because they come from files and may contain markup. */
static void add_escaped(struct str *out, const char *text, size_t n_max)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n && i < n_max; i++) {
        char c = text[i];
        if (c == '<' || c == '>' || c == '&' || c == '"')
            str_printf(out, "&#%d;", c);
        else if ((unsigned char)c >= 0x20)
            str_add_char(out, c);
    }
    if (n > n_max)
        str_add_text(out, "..");
}

/* Colours go around the circle by the golden angle, so that neighbours differ. */
static int32_t hue_of(int32_t service)
{
    return (int32_t)((int64_t)service * 13751 / 100 % 360);
}

static void draw_engine(const struct report_plan *report, int32_t g, int32_t y, struct str *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct place_group *group = &report->options[0].plan.groups[g];
    int32_t first = group->first_device - p->nodes[group->node].first_device;
    int32_t x = LEFT + first % CELLS_PER_LINE * CELL, width = group->n_devices * CELL - 6;
    y += first / CELLS_PER_LINE * ROW;
    str_printf(out, "<g><title>");
    for (int32_t m = 0; m < group->n_members; m++) {
        add_escaped(out, p->services[group->members[m].service].name, 127);
        str_add_text(out, m + 1 < group->n_members ? ", " : "");
    }
    str_printf(out, ": %.1f GiB, KV %.1f GiB", (double)place_group_memory(p, group) * 0x1p-30,
               (double)place_group_kv_bytes(p, group) * 0x1p-30);
    report_plan_lanes(group, out);
    str_add_text(out, "</title>");
    for (int32_t m = 0; m < group->n_members; m++) {
        int32_t height = (ROW - 14) / group->n_members;
        const struct place_service *s = &p->services[group->members[m].service];
        str_printf(out,
                   "<rect class=\"e\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                   "fill=\"hsl(%d,70%%,50%%)\"/>",
                   x + 3, y + 4 + m * height, width, height, hue_of(group->members[m].service));
        if (height < 11)
            continue;
        str_printf(out, "<text x=\"%d\" y=\"%d\">", x + 7, y + 4 + m * height + height / 2 + 4);
        add_escaped(out, s->name, (size_t)(NAME_CHARS * group->n_devices - 1));
        str_add_text(out, "</text>");
    }
    str_add_text(out, "</g>\n");
}

static int32_t n_lines_of(const struct place_node *node)
{
    return (node->n_devices + CELLS_PER_LINE - 1) / CELLS_PER_LINE;
}

void report_plan_page(const struct report_plan *report, const char *text, struct str *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct place_plan *plan = &report->options[0].plan;
    int32_t n_lines = 0, n_wide = 1, y = 0, g = 0;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        n_lines += n_lines_of(&p->nodes[i]);
        n_wide = max_i32(n_wide, min_i32(p->nodes[i].n_devices, CELLS_PER_LINE));
    }
    str_add_text(out, head);
    str_printf(out, "<svg width=\"%d\" viewBox=\"0 0 %d %d\">\n", LEFT + n_wide * CELL,
               LEFT + n_wide * CELL, n_lines * ROW);
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const struct place_node *node = &p->nodes[i];
        str_printf(out, "<text x=\"4\" y=\"%d\">node %d, %s</text>\n", y + ROW / 2, i,
                   p->kinds[node->kind].name);
        for (int32_t d = 0; d < node->n_devices; d++)
            str_printf(out, "<rect class=\"d\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                       LEFT + d % CELLS_PER_LINE * CELL, y + d / CELLS_PER_LINE * ROW + 1, CELL,
                       ROW - 8);
        for (; g < plan->n_groups && plan->groups[g].node == i; g++)
            draw_engine(report, g, y, out);
        y += n_lines_of(node) * ROW;
    }
    str_add_text(out, "</svg>\n<pre>");
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\n')
            str_add_char(out, '\n');
        else
            add_escaped(out, (char[2]){ *at, '\0' }, 1);
    }
    str_add_text(out, "</pre>\n");
}
