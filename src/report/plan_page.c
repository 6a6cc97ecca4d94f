/* Draws a plan: nodes are rows of devices, and an engine is a box over its devices. */
#include "report/plan.h"

enum { CELL_MIN = 92, CELL_MAX = 130, LEFT = 120, CELLS_PER_LINE = 16 };
enum { CHAR_WIDTH = 7, KIND_CHARS = 8, NAME_HEIGHT = 15 };

static int32_t n_wide_of(const struct place_problem *p)
{
    int32_t n_wide = 1;
    for (int32_t i = 0; i < p->n_nodes; i++)
        n_wide = max_i32(n_wide, min_i32(p->nodes[i].n_devices, CELLS_PER_LINE));
    return n_wide;
}

/* Returns the width of a device: wide ones where that leaves the page's width. */
static int32_t cell_of(const struct place_problem *p)
{
    return n_wide_of(p) * 2 <= CELLS_PER_LINE ? CELL_MAX : CELL_MIN;
}

/* Colours go around the circle by the golden angle, so that neighbours differ. */
static int32_t hue_of(int32_t service)
{
    return (int32_t)((int64_t)service * 13751 / 100 % 360);
}

static void draw_engine(const struct report_plan *report, int32_t g, int32_t y, int32_t row,
                        struct str *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct place_group *group = &report->options[0].plan.groups[g];
    int32_t first = group->first_device - p->nodes[group->node].first_device;
    int32_t cell = cell_of(p), x = LEFT + first % CELLS_PER_LINE * cell;
    int32_t width = group->n_devices * cell - 6, n_chars = width / CHAR_WIDTH - 1;
    y += first / CELLS_PER_LINE * row;
    str_printf(out, "<g><title>engine %c: ", report_plan_letter(g));
    for (int32_t m = 0; m < group->n_members; m++) {
        doc_escape(out, p->services[group->members[m].service].name);
        str_add_text(out, m + 1 < group->n_members ? ", " : "");
    }
    str_printf(out, ": %.1f GiB, KV %.1f GiB", (double)place_group_memory(p, group) * 0x1p-30,
               (double)place_group_kv_bytes(p, group) * 0x1p-30);
    report_plan_lanes(group, out);
    str_add_text(out, "</title>");
    for (int32_t m = 0; m < group->n_members; m++) {
        int32_t height = (row - 14) / group->n_members;
        const struct place_service *s = &p->services[group->members[m].service];
        str_printf(out,
                   "<rect class=\"e\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                   "fill=\"hsl(%d,70%%,50%%)\"/>",
                   x + 3, y + 4 + m * height, width, height, hue_of(group->members[m].service));
        str_printf(out, "<text x=\"%d\" y=\"%d\">", x + 7, y + 4 + m * height + height / 2 + 4);
        if (m == 0)
            str_printf(out, "%c: ", report_plan_letter(g));
        doc_escape_short(out, s->name, m == 0 ? n_chars - 3 : n_chars);
        str_add_text(out, "</text>");
    }
    str_add_text(out, "</g>\n");
}

static int32_t n_lines_of(const struct place_node *node)
{
    return (node->n_devices + CELLS_PER_LINE - 1) / CELLS_PER_LINE;
}

/* Returns the height of a row of devices, in which the names of each engine have room. */
static int32_t row_of(const struct place_plan *plan)
{
    int32_t n_most = 3;
    for (int32_t g = 0; g < plan->n_groups; g++)
        n_most = max_i32(n_most, plan->groups[g].n_members);
    return n_most * NAME_HEIGHT + 14;
}

static void draw_devices(const struct place_problem *p, int32_t i, int32_t y, int32_t row,
                         struct str *html)
{
    const struct place_node *node = &p->nodes[i];
    int32_t cell = cell_of(p);
    str_printf(html, "<text x=\"4\" y=\"%d\">node %d, ", y + row / 2, i);
    doc_escape_short(html, p->kinds[node->kind].name, KIND_CHARS);
    str_add_text(html, "</text>\n");
    for (int32_t d = 0; d < node->n_devices; d++)
        str_printf(html, "<rect class=\"d\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                   LEFT + d % CELLS_PER_LINE * cell, y + d / CELLS_PER_LINE * row + 1, cell,
                   row - 8);
}

void report_plan_draw(const struct report_plan *report, struct str *html)
{
    const struct place_problem *p = &report->of->problem;
    const struct place_plan *plan = &report->options[0].plan;
    int32_t n_lines = 0, y = 0, g = 0, row = row_of(plan);
    int32_t width = LEFT + n_wide_of(p) * cell_of(p);
    for (int32_t i = 0; i < p->n_nodes; i++)
        n_lines += n_lines_of(&p->nodes[i]);
    str_add_text(html, "<p>The plan of ");
    doc_escape(html, report->options[0].label);
    str_add_text(html, ": rows are nodes, columns are devices, boxes are services on them, "
                       "letters are engines.</p>\n");
    str_printf(html,
               "<figure class=\"wide\" tabindex=\"0\"><svg role=\"img\" aria-label=\"engines on "
               "devices\" width=\"%d\" viewBox=\"0 0 %d %d\">\n",
               width, width, n_lines * row);
    for (int32_t i = 0; i < p->n_nodes; i++) {
        draw_devices(p, i, y, row, html);
        for (; g < plan->n_groups && plan->groups[g].node == i; g++)
            draw_engine(report, g, y, row, html);
        y += n_lines_of(&p->nodes[i]) * row;
    }
    str_add_text(html, "</svg></figure>\n");
}
