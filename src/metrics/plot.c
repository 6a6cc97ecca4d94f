/* Charts as SVG: axes with round numbers, lines of few points, bars. */
#include "metrics/plot.h"

#include "base/doc.h"
#include "base/num.h"

enum { WIDTH = 480, HEIGHT = 300, LEFT = 62, RIGHT = 18, TOP = 10, BOTTOM = 44, TICKS = 6 };
enum { PLOT_WIDTH = WIDTH - LEFT - RIGHT, PLOT_HEIGHT = HEIGHT - TOP - BOTTOM };
enum { HOVERS = 48 }; /* points of a line that tell their values */
enum { BARS_LEFT = 190, BARS_WIDTH = WIDTH - BARS_LEFT - RIGHT, NAME_CHARS = 28 };

static double log10_of(double x)
{
    return num_log(x) / 2.302585092994046;
}

/* Returns 1, 2 or 5 times a power of ten, so that at most TICKS of them fill the span. */
static double round_step(double span)
{
    double step = num_exp(2.302585092994046 * num_floor(log10_of(span / TICKS)));
    while (span / step > TICKS)
        step *= span / step > 5 * TICKS ? 10 : span / step > 2.5 * TICKS ? 5 : 2;
    return step;
}

struct axis {
    double low, high;
    bool is_log;
};

static double place(const struct axis *axis, double value)
{
    double at = axis->is_log ? log10_of(value) : value;
    return (at - axis->low) / (axis->high - axis->low);
}

static void make_axis(struct axis *axis, double low, double high)
{
    if (axis->is_log) {
        low = num_floor(log10_of(low));
        high = -num_floor(-log10_of(high));
    }
    if (high <= low)
        high = low + 1;
    *axis = (struct axis){ low, high, axis->is_log };
}

static void draw_tick(struct str *out, double at, double value, bool is_x)
{
    double x = is_x ? LEFT + at * PLOT_WIDTH : LEFT, y = TOP + (1 - at) * PLOT_HEIGHT;
    if (is_x)
        str_printf(
            out,
            "<line class=\"g\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><text x=\"%.1f\" "
            "y=\"%d\" text-anchor=\"middle\">%g</text>\n",
            x, TOP, x, TOP + PLOT_HEIGHT, x, TOP + PLOT_HEIGHT + 16, value);
    else
        str_printf(out,
                   "<line class=\"g\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text x=\"%d\" "
                   "y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                   LEFT, y, LEFT + PLOT_WIDTH, y, LEFT - 6, y + 4, value);
}

static void draw_axis(struct str *out, const struct axis *axis, bool is_x)
{
    double span = axis->high - axis->low, step = axis->is_log ? 1 : round_step(span);
    if (axis->is_log && span > 2 * TICKS)
        step = num_floor(span / TICKS) + 1;
    double first = -num_floor(-axis->low / step);
    for (int i = 0; (first + i) * step <= axis->high + 1e-9 * span; i++) {
        double value = (first + i) * step;
        draw_tick(out, (value - axis->low) / span,
                  axis->is_log ? num_exp(2.302585092994046 * value) : value, is_x);
    }
}

static void open_figure(struct str *out, const char *title, int height)
{
    str_add_text(out, "<figure><figcaption>");
    doc_escape(out, title);
    str_printf(out,
               "</figcaption><div class=\"plot\"><svg viewBox=\"0 0 %d %d\" role=\"img\" "
               "aria-label=\"",
               WIDTH, height);
    doc_escape(out, title);
    str_add_text(out, "\">\n");
}

/* Closes the picture. The names stand beside it, so that they hide no line. */
static void close_figure(struct str *out, const char *const *names, int n)
{
    str_add_text(out, "</svg>");
    if (n > 1)
        str_add_text(out, "<ul class=\"legend\">");
    for (int i = 0; i < n && n > 1; i++) {
        str_printf(out, "<li><i class=\"c%d\"></i>", i);
        doc_escape(out, names[i]);
        str_add_text(out, "</li>");
    }
    str_printf(out, "%s</div></figure>\n", n > 1 ? "</ul>" : "");
}

static void draw_labels(struct str *out, const char *x_label, const char *y_label)
{
    str_printf(out, "<text class=\"s\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
               LEFT + PLOT_WIDTH / 2, HEIGHT - 8);
    doc_escape(out, x_label);
    str_printf(out,
               "</text><text class=\"s\" transform=\"translate(14,%d) rotate(-90)\" "
               "text-anchor=\"middle\">",
               TOP + PLOT_HEIGHT / 2);
    doc_escape(out, y_label);
    str_add_text(out, "</text>\n");
}

/* Finds the bounds of the chart's data. Returns false when there is none. */
static bool bounds(const struct plot_chart *chart, double x[2], double *y_high)
{
    bool is_any = false;
    *y_high = 0;
    for (int l = 0; l < chart->n_lines; l++) {
        for (size_t i = 0; i < chart->lines[l].n; i++) {
            double at = chart->lines[l].x[i], value = chart->lines[l].y[i];
            if (chart->is_log_x && at <= 0)
                continue;
            x[0] = !is_any || at < x[0] ? at : x[0];
            x[1] = !is_any || at > x[1] ? at : x[1];
            *y_high = value > *y_high ? value : *y_high;
            is_any = true;
        }
    }
    return is_any;
}

struct frame { /* of a chart */
    const struct plot_chart *chart;
    struct axis x, y;
};

static double x_at(const struct frame *frame, double x)
{
    return LEFT + place(&frame->x, x) * PLOT_WIDTH;
}

static double y_at(const struct frame *frame, double y)
{
    return TOP + (1 - place(&frame->y, y)) * PLOT_HEIGHT;
}

static bool is_drawn(const struct frame *frame, const struct plot_line *line, size_t i)
{
    return !frame->chart->is_log_x || line->x[i] > 0;
}

static void draw_line(struct str *out, const struct frame *frame, int l)
{
    const struct plot_line *line = &frame->chart->lines[l];
    str_printf(out, "<polyline class=\"c%d\" points=\"", l);
    for (size_t i = 0; i < line->n; i++)
        if (is_drawn(frame, line, i))
            str_printf(out, "%.1f,%.1f ", x_at(frame, line->x[i]), y_at(frame, line->y[i]));
    str_add_text(out, "\"/>\n");
}

/* Draws points that tell their values; only the one under the pointer is visible. */
static void draw_hovers(struct str *out, const struct frame *frame, int l)
{
    const struct plot_line *line = &frame->chart->lines[l];
    size_t step = line->n / HOVERS + 1;
    for (size_t i = 0; i < line->n; i += step) {
        if (!is_drawn(frame, line, i))
            continue;
        str_printf(out, "<circle class=\"h c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"><title>", l,
                   x_at(frame, line->x[i]), y_at(frame, line->y[i]));
        doc_escape(out, line->name);
        str_printf(out, ": %.4g ", line->x[i]);
        doc_escape(out, frame->chart->x_label);
        str_printf(out, ", %.4g ", line->y[i]);
        doc_escape(out, frame->chart->y_label);
        str_add_text(out, "</title></circle>\n");
    }
}

void metrics_plot_chart(const struct plot_chart *chart, struct str *html)
{
    double x[2] = { 0, 1 }, y_high = 0;
    struct frame frame = { chart, { .is_log = chart->is_log_x }, { .is_log = false } };
    const char *names[PLOT_RUNS_MAX];
    CHECK(chart->n_lines <= PLOT_RUNS_MAX);
    if (!bounds(chart, x, &y_high))
        return;
    make_axis(&frame.x, x[0], x[1]);
    make_axis(&frame.y, 0, y_high);
    open_figure(html, chart->title, HEIGHT);
    draw_labels(html, chart->x_label, chart->y_label);
    draw_axis(html, &frame.x, true);
    draw_axis(html, &frame.y, false);
    for (int l = 0; l < chart->n_lines; l++) {
        names[l] = chart->lines[l].name;
        draw_line(html, &frame, l);
    }
    for (int l = 0; l < chart->n_lines; l++)
        draw_hovers(html, &frame, l);
    close_figure(html, names, chart->n_lines);
}

/* ---- Bars. ---- */

static int bar_height(const struct plot_bars *bars)
{
    return bars->n_names == 1 ? 12 : bars->n_names <= 3 ? 8 : 5;
}

/* Writes a group's name left of its bars. A long one is cut; the pointer shows the whole. */
static void draw_group_name(struct str *out, const char *name, double y)
{
    str_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", BARS_LEFT - 8, y);
    doc_escape_short(out, name, NAME_CHARS);
    str_add_text(out, "<title>");
    doc_escape(out, name);
    str_add_text(out, "</title></text>\n");
}

static void draw_bars_axis(struct str *out, const struct axis *axis, int bottom)
{
    double step = round_step(axis->high);
    for (int i = 0; i * step <= axis->high * (1 + 1e-9); i++) {
        double x = BARS_LEFT + i * step / axis->high * BARS_WIDTH;
        str_printf(
            out,
            "<line class=\"g\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><text x=\"%.1f\" "
            "y=\"%d\" text-anchor=\"middle\">%g</text>\n",
            x, TOP, x, bottom, x, bottom + 16, i * step);
    }
}

/* Draws the bars of a group, from y on. */
static void draw_group(struct str *out, const struct plot_bars *bars, int g, double y,
                       const struct axis *axis)
{
    int height = bar_height(bars);
    draw_group_name(out, bars->groups[g], y + 0.5 * height * bars->n_names + 4);
    for (int b = 0; b < bars->n_names; b++) {
        double value = bars->values[g * bars->n_names + b];
        str_printf(out,
                   "<rect class=\"c%d\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"><title>",
                   b, BARS_LEFT, y + b * height, place(axis, value) * BARS_WIDTH, height - 1);
        doc_escape(out, bars->groups[g]);
        if (bars->n_names > 1) {
            str_add_text(out, ", ");
            doc_escape(out, bars->names[b]);
        }
        str_printf(out, ": %.4g</title></rect>\n", value);
    }
}

void metrics_plot_bars(const struct plot_bars *bars, struct str *html)
{
    double high = 0;
    struct axis axis = { .is_log = false };
    int group = bar_height(bars) * bars->n_names + 8, bottom = TOP + group * bars->n_groups;
    for (int i = 0; i < bars->n_groups * bars->n_names; i++)
        high = bars->values[i] > high ? bars->values[i] : high;
    if (bars->n_groups == 0 || bars->n_names == 0)
        return;
    make_axis(&axis, 0, high);
    open_figure(html, bars->title, bottom + BOTTOM);
    draw_bars_axis(html, &axis, bottom);
    for (int g = 0; g < bars->n_groups; g++)
        draw_group(html, bars, g, TOP + g * group + 4, &axis);
    str_printf(html, "<text class=\"s\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
               BARS_LEFT + BARS_WIDTH / 2, bottom + BOTTOM - 8);
    doc_escape(html, bars->x_label);
    str_add_text(html, "</text>\n");
    close_figure(html, bars->names, bars->n_names);
}
