/* A bar on the error output that fills while a program works. */
#include "base/bar.h"

#include "base/time.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR_CELLS = 24 };

void bar_text(char text[BAR_COLUMNS + 1], const char *what, double share, double elapsed_s,
              const char *more)
{
    share = fmin(fmax(share, 0), 1);
    char cells[BAR_CELLS + 1], left[32] = "";
    size_t n_full = (size_t)(share * BAR_CELLS);
    memset(cells, '#', n_full);
    memset(cells + n_full, ' ', BAR_CELLS - n_full);
    cells[BAR_CELLS] = '\0';
    if (share > 0.01 && elapsed_s >= 1)
        snprintf(left, sizeof(left), ", %.0f s left", ceil(elapsed_s / share * (1 - share)));
    snprintf(text, BAR_COLUMNS + 1, "%s [%s] %3.0f%%%s%s%s", what, cells, floor(share * 100), left,
             more[0] != '\0' ? ", " : "", more);
}

void bar_draw(struct bar *bar, const char *what, double share, const char *more)
{
    char text[BAR_COLUMNS + 1] = "";
    int64_t now_ns = time_now_ns();
    if (bar->begin_ns == 0)
        bar->begin_ns = now_ns;
    if (share >= 1)
        bar->begin_ns = 0;
    else
        bar_text(text, what, share, (double)(now_ns - bar->begin_ns) * 1e-9, more);
    fprintf(stderr, "\r%-*s\r%s", BAR_COLUMNS, "", text);
    fflush(stderr);
}
