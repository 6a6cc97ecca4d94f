/* The roofline: operations per byte against operations per second, the machine's limits as lines,
 * each row as a point. It is one page with inline SVG that loads nothing. */
#include "roofline/roofline.h"

#include "base/num.h"
#include <string.h>

enum { WIDTH = 760, HEIGHT = 460, LEFT = 70, RIGHT = 20, TOP = 30, BOTTOM = 50 };

struct axis { /* both axes are logarithmic: powers of ten from low to high */
    double low, high;
};
struct picture {
    struct axis x, y; /* operations per byte, Gop/s */
    struct str *out;
};

static double log10_of(double x)
{
    return num_log(x) / 2.302585092994046;
}

static double x_at(const struct picture *p, double value)
{
    double part = (log10_of(value) - p->x.low) / (p->x.high - p->x.low);
    return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double y_at(const struct picture *p, double value)
{
    double part = (log10_of(value) - p->y.low) / (p->y.high - p->y.low);
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static double power_of_10(double exponent)
{
    return num_exp(2.302585092994046 * exponent);
}

/* File names come from outside. */
static void add_escaped(struct str *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            str_printf(out, "&#%d;", *text);
        else
            str_add_char(out, *text);
    }
}

static void draw_axes(const struct picture *p)
{
    for (double e = p->x.low; e <= p->x.high + 0.5; e++) {
        double x = x_at(p, power_of_10(e));
        str_printf(p->out,
                   "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>"
                   "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                   x, TOP, x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 16, power_of_10(e));
    }
    for (double e = p->y.low; e <= p->y.high + 0.5; e++) {
        double y = y_at(p, power_of_10(e));
        str_printf(p->out,
                   "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                   "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                   LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4, power_of_10(e));
    }
    str_printf(p->out,
               "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">operations per byte read</text>"
               "<text x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\" text-anchor=\"middle\">"
               "Gop/s</text>\n",
               (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, HEIGHT / 2, HEIGHT / 2);
}

/* Bandwidth rises until it meets the highest peak; a peak is level. */
static void draw_limits(const struct picture *p, const struct roofline_machine *m)
{
    static const char *const levels[] = { "L2", "L3", "memory" };
    static const char *const peaks[CPU_LIMIT_N] = { "float", "half", "int8", "int8 in 16 bits" };
    double top = 0;
    for (int i = 0; i < CPU_LIMIT_N; i++) {
        double y = y_at(p, m->peak[i][1] * 1e-9);
        top = m->peak[i][1] > top ? m->peak[i][1] : top;
        str_printf(p->out,
                   "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#c92a2a\"/>"
                   "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s, %.0f Gop/s</text>\n",
                   LEFT, y, WIDTH - RIGHT, y, WIDTH - RIGHT - 4, y - 4, peaks[i],
                   m->peak[i][1] * 1e-9);
    }
    for (int i = 0; i < 3; i++) {
        double from = power_of_10(p->x.low), to = top / m->read[i][1];
        double low = power_of_10(p->y.low) * 1e9 / m->read[i][1];
        from = from > low ? from : low;
        double y = y_at(p, from * m->read[i][1] * 1e-9);
        str_printf(p->out,
                   "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#2a6fdb\"/>"
                   "<text x=\"%.1f\" y=\"%.1f\">%s, %.0f GB/s</text>\n",
                   x_at(p, from), y, x_at(p, to), y_at(p, top * 1e-9), x_at(p, from) + 6.0,
                   y - 8.0 - 12.0 * i, levels[i], m->read[i][1] * 1e-9);
    }
}

static void draw_row(const struct picture *p, const struct roofline_row *row, const char *model)
{
    static const char *const colours[] = { "#2b8a3e", "#e67700", "#ae3ec9" };
    char name[64];
    double s = roofline_work_median(row->ours, row->n_rounds);
    if (s <= 0 || row->limit.bytes <= 0 || row->limit.ops <= 0)
        return;
    double x = x_at(p, row->limit.ops / row->limit.bytes);
    double y = y_at(p, row->limit.ops / s * 1e-9);
    str_printf(p->out,
               "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" fill-opacity=\"0.7\"><title>",
               x, y, colours[row->point.kind]);
    add_escaped(p->out, model);
    str_printf(p->out, ", %s: %.1f Gop/s, %.1f GB/s, %.0f%% of its limit</title></circle>\n",
               roofline_point_name(&row->point, name), row->limit.ops / s * 1e-9,
               row->limit.bytes / s * 1e-9,
               100 * roofline_work_median(row->fractions, row->n_rounds));
}

/* Powers of ten around everything that is drawn. */
static void widen(struct axis *axis, double value)
{
    if (value <= 0)
        return;
    double at = log10_of(value);
    axis->low = axis->low < num_floor(at) ? axis->low : num_floor(at);
    axis->high = axis->high > num_floor(at) + 1 ? axis->high : num_floor(at) + 1;
}

static void widen_by_row(struct picture *p, const struct roofline_row *row)
{
    double s = roofline_work_median(row->ours, row->n_rounds);
    if (s <= 0 || row->limit.bytes <= 0)
        return;
    widen(&p->x, row->limit.ops / row->limit.bytes);
    widen(&p->y, row->limit.ops / s * 1e-9);
}

void roofline_page(const struct roofline_report *r, struct str *out)
{
    struct picture p = { .x = { 0, 1 }, .y = { 1, 2 }, .out = out };
    for (int i = 0; i < CPU_LIMIT_N; i++)
        widen(&p.y, r->machine->peak[i][1] * 1e-9);
    for (int i = 0; i < r->n_models; i++) {
        for (int k = 0; k < r->models[i].n_rows; k++)
            widen_by_row(&p, &r->models[i].rows[k]);
        for (int k = 0; k < r->models[i].n_attentions; k++)
            widen_by_row(&p, &r->models[i].attentions[k]);
    }
    str_printf(out,
               "<!doctype html><meta charset=\"utf-8\"><title>Roofline</title>\n"
               "<h1>Roofline</h1>\n<p>Green: prompts; orange: decodes; violet: attention alone. "
               "Point at a circle for its figures.</p>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
               "font-family=\"sans-serif\" font-size=\"11\">\n",
               WIDTH, HEIGHT);
    draw_axes(&p);
    draw_limits(&p, r->machine);
    for (int i = 0; i < r->n_models; i++) {
        for (int k = 0; k < r->models[i].n_rows; k++)
            draw_row(&p, &r->models[i].rows[k], r->models[i].name);
        for (int k = 0; k < r->models[i].n_attentions; k++)
            draw_row(&p, &r->models[i].attentions[k], r->models[i].name);
    }
    str_add_text(out, "</svg>\n<pre>");
    struct str table;
    str_init(&table);
    roofline_print(r, &table);
    add_escaped(out, table.at);
    str_free(&table);
    str_add_text(out, "</pre>\n");
}
