/* The roofline: operations per byte against operations per second, the machine's limits as lines,
 * each row as a point. */
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

static void draw_axes(const struct picture *p)
{
    for (double e = p->x.low; e <= p->x.high + 0.5; e++) {
        double x = x_at(p, power_of_10(e));
        str_printf(p->out,
                   "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" class=\"g\"/>"
                   "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                   x, TOP, x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 16, power_of_10(e));
    }
    for (double e = p->y.low; e <= p->y.high + 0.5; e++) {
        double y = y_at(p, power_of_10(e));
        str_printf(p->out,
                   "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" class=\"g\"/>"
                   "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                   LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4, power_of_10(e));
    }
    str_printf(p->out,
               "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">operations per byte read</text>"
               "<text x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\" text-anchor=\"middle\">"
               "Gop/s</text>\n",
               (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, HEIGHT / 2, HEIGHT / 2);
}

enum { LABELS_MAX = 4, LABEL_HEIGHT = 15 };
struct labels { /* of lines */
    struct {
        double y; /* of the line */
        const char *name;
        double value;
    } at[LABELS_MAX];
    int n;
    double x;
    const char *anchor;
};

/* Keeps the labels in order, the highest first. */
static void add_label(struct labels *labels, double y, const char *name, double value)
{
    int at = labels->n++;
    for (; at > 0 && labels->at[at - 1].y > y; at--)
        labels->at[at] = labels->at[at - 1];
    labels->at[at].y = y;
    labels->at[at].name = name;
    labels->at[at].value = value;
}

/* Draws each label above its line, and moves it up where it would cover the one below. */
static void draw_labels(const struct picture *p, const struct labels *labels, const char *unit)
{
    double below = HEIGHT;
    for (int i = labels->n - 1; i >= 0; i--) {
        double y = labels->at[i].y - 4;
        y = y > below - LABEL_HEIGHT ? below - LABEL_HEIGHT : y;
        str_printf(
            p->out,
            "<text class=\"t\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s, %.0f %s</text>\n",
            labels->x, y, labels->anchor, labels->at[i].name, labels->at[i].value, unit);
        below = y;
    }
}

static void draw_peaks(const struct picture *p, const struct roofline_machine *m)
{
    static const char *const names[CPU_LIMIT_N] = { "float", "half", "int8", "int8 in 16 bits" };
    struct labels labels = { .x = WIDTH - RIGHT - 4, .anchor = "end" };
    for (int i = 0; i < CPU_LIMIT_N; i++) {
        double peak = m->peak[i][1] * 1e-9, y = y_at(p, peak);
        str_printf(p->out, "<line class=\"c4\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n",
                   LEFT, y, WIDTH - RIGHT, y);
        add_label(&labels, y, names[i], peak);
    }
    draw_labels(p, &labels, "Gop/s");
}

/* Bandwidth rises until it meets the highest peak; a peak is level. */
static void draw_limits(const struct picture *p, const struct roofline_machine *m)
{
    static const char *const levels[] = { "L2", "L3", "memory" };
    struct labels labels = { .x = LEFT + 6, .anchor = "start" };
    double top = 0;
    for (int i = 0; i < CPU_LIMIT_N; i++)
        top = m->peak[i][1] > top ? m->peak[i][1] : top;
    draw_peaks(p, m);
    for (int i = 0; i < 3; i++) {
        double from = power_of_10(p->x.low), to = top / m->read[i][1];
        double low = power_of_10(p->y.low) * 1e9 / m->read[i][1];
        from = from > low ? from : low;
        double y = y_at(p, from * m->read[i][1] * 1e-9);
        str_printf(p->out, "<line class=\"c0\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                   x_at(p, from), y, x_at(p, to), y_at(p, top * 1e-9));
        add_label(&labels, y - 6, levels[i], m->read[i][1] * 1e-9);
    }
    draw_labels(p, &labels, "GB/s");
}

static void draw_row(const struct picture *p, const struct roofline_row *row, const char *model)
{
    static const char *const colours[] = { "c2", "c1", "c3" };
    char name[64];
    double s = roofline_work_median(row->ours, row->n_rounds);
    if (s <= 0 || row->limit.bytes <= 0 || row->limit.ops <= 0)
        return;
    double x = x_at(p, row->limit.ops / row->limit.bytes);
    double y = y_at(p, row->limit.ops / s * 1e-9);
    str_printf(p->out,
               "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill-opacity=\".7\"><title>",
               colours[row->point.kind], x, y);
    doc_escape(p->out, model);
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

void roofline_page(const struct roofline_report *r, const struct str *printed, struct str *html)
{
    struct picture p = { .x = { 0, 1 }, .y = { 1, 2 }, .out = html };
    for (int i = 0; i < CPU_LIMIT_N; i++)
        widen(&p.y, r->machine->peak[i][1] * 1e-9);
    for (int i = 0; i < r->n_models; i++) {
        for (int k = 0; k < r->models[i].n_rows; k++)
            widen_by_row(&p, &r->models[i].rows[k]);
        for (int k = 0; k < r->models[i].n_attentions; k++)
            widen_by_row(&p, &r->models[i].attentions[k]);
    }
    doc_page_open(html, "Shoal: roofline");
    str_printf(html,
               "<p>Lines are the limits of this machine, circles are what was measured. Point at "
               "a circle for its figures.</p>\n<figure><div class=\"plot\"><div class=\"wide\" "
               "tabindex=\"0\"><svg role=\"img\" aria-label=\"roofline\" width=\"%d\" "
               "height=\"%d\" viewBox=\"0 0 %d %d\">\n",
               WIDTH, HEIGHT, WIDTH, HEIGHT);
    draw_axes(&p);
    draw_limits(&p, r->machine);
    for (int i = 0; i < r->n_models; i++) {
        for (int k = 0; k < r->models[i].n_rows; k++)
            draw_row(&p, &r->models[i].rows[k], r->models[i].name);
        for (int k = 0; k < r->models[i].n_attentions; k++)
            draw_row(&p, &r->models[i].attentions[k], r->models[i].name);
    }
    str_add_text(html, "</svg></div><ul class=\"legend\"><li><i class=\"c2\"></i>prompts</li>"
                       "<li><i class=\"c1\"></i>decodes</li><li><i class=\"c3\"></i>attention "
                       "alone</li></ul></div></figure>\n");
    str_add(html, printed->at, printed->n);
    doc_page_close(html);
}
