/* Charts as SVG: axes with round numbers, lines of few points, bars. */
#include "metrics/plot.h"

#include "base/num.h"
#include <string.h>

enum { WIDTH = 560, HEIGHT = 320, LEFT = 64, RIGHT = 16, TOP = 36, BOTTOM = 44, TICKS = 6 };
enum { PLOT_WIDTH = WIDTH - LEFT - RIGHT, PLOT_HEIGHT = HEIGHT - TOP - BOTTOM };

static const char *const colours[PLOT_RUNS_MAX] = { "#2a6fdb", "#d9480f", "#2b8a3e", "#ae3ec9",
                                                    "#c92a2a", "#0b7285", "#e67700", "#495057" };

static void add_escaped(struct str *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            str_add_text(out, "&lt;");
            break;
        case '>':
            str_add_text(out, "&gt;");
            break;
        case '&':
            str_add_text(out, "&amp;");
            break;
        case '"':
            str_add_text(out, "&quot;");
            break;
        default:
            str_add_char(out, *text);
        }
    }
}

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

static void open_chart(struct str *out, const char *title, const char *x_label, const char *y_label)
{
    str_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, HEIGHT);
    add_escaped(out, title);
    str_printf(out, "</title><text class=\"t\" x=\"%d\" y=\"18\">", LEFT);
    add_escaped(out, title);
    str_printf(out, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", LEFT + PLOT_WIDTH / 2,
               HEIGHT - 8);
    add_escaped(out, x_label);
    str_printf(out,
               "</text><text transform=\"translate(14,%d) rotate(-90)\" "
               "text-anchor=\"middle\">",
               TOP + PLOT_HEIGHT / 2);
    add_escaped(out, y_label);
    str_add_text(out, "</text>\n");
}

static void draw_names(struct str *out, const char *const *names, int n)
{
    for (int i = 0; i < n && n > 1; i++) {
        int y = TOP + 6 + 16 * i;
        str_printf(out,
                   "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"4\" fill=\"%s\"/><text x=\"%d\" "
                   "y=\"%d\">",
                   LEFT + 8, y, colours[i % PLOT_RUNS_MAX], LEFT + 24, y + 6);
        add_escaped(out, names[i]);
        str_add_text(out, "</text>\n");
    }
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

void metrics_plot_chart(const struct plot_chart *chart, struct str *out)
{
    double x[2] = { 0, 1 }, y_high = 0;
    struct axis x_axis = { .is_log = chart->is_log_x }, y_axis = { .is_log = false };
    const char *names[PLOT_RUNS_MAX];
    CHECK(chart->n_lines <= PLOT_RUNS_MAX);
    if (!bounds(chart, x, &y_high))
        return;
    make_axis(&x_axis, x[0], x[1]);
    make_axis(&y_axis, 0, y_high);
    open_chart(out, chart->title, chart->x_label, chart->y_label);
    draw_axis(out, &x_axis, true);
    draw_axis(out, &y_axis, false);
    for (int l = 0; l < chart->n_lines; l++) {
        const struct plot_line *line = &chart->lines[l];
        names[l] = line->name;
        str_printf(out, "<polyline stroke=\"%s\" points=\"", colours[l]);
        for (size_t i = 0; i < line->n; i++)
            if (!chart->is_log_x || line->x[i] > 0)
                str_printf(out, "%.1f,%.1f ", LEFT + place(&x_axis, line->x[i]) * PLOT_WIDTH,
                           TOP + (1 - place(&y_axis, line->y[i])) * PLOT_HEIGHT);
        str_add_text(out, "\"/>\n");
    }
    draw_names(out, names, chart->n_lines);
    str_add_text(out, "</svg>\n");
}

void metrics_plot_bars(const struct plot_bars *bars, struct str *out)
{
    double high = 0;
    struct axis axis = { .is_log = false };
    for (int i = 0; i < bars->n_groups * bars->n_names; i++)
        high = bars->values[i] > high ? bars->values[i] : high;
    if (bars->n_groups == 0 || bars->n_names == 0)
        return;
    make_axis(&axis, 0, high * (1 + 18.0 * bars->n_names / PLOT_HEIGHT)); /* room for the names */
    open_chart(out, bars->title, "", bars->y_label);
    draw_axis(out, &axis, false);
    double group = (double)PLOT_WIDTH / bars->n_groups, width = 0.8 * group / bars->n_names;
    for (int g = 0; g < bars->n_groups; g++) {
        for (int b = 0; b < bars->n_names; b++) {
            double value = bars->values[g * bars->n_names + b];
            double height = place(&axis, value) * PLOT_HEIGHT;
            str_printf(out,
                       "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                       "fill=\"%s\"><title>",
                       LEFT + g * group + 0.1 * group + b * width, TOP + PLOT_HEIGHT - height,
                       width, height, colours[b % PLOT_RUNS_MAX]);
            add_escaped(out, bars->groups[g]);
            str_printf(out, ": %.4g</title></rect>\n", value);
        }
        str_printf(out, "<text text-anchor=\"middle\" transform=\"translate(%.1f,%d)%s\">",
                   LEFT + (g + 0.5) * group, TOP + PLOT_HEIGHT + 14,
                   bars->n_groups > 4 ? " rotate(-20) scale(0.7)" : "");
        add_escaped(out, bars->groups[g]);
        str_add_text(out, "</text>\n");
    }
    draw_names(out, bars->names, bars->n_names);
    str_add_text(out, "</svg>\n");
}
