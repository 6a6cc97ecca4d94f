/* A bar on the error output that fills while a program works. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { BAR_COLUMNS = 79 };
struct bar {
    int64_t begin_ns; /* 0: before it was drawn first */
};
/* Writes "sim [#####     ]  50%, 12 s left, MORE", cut at BAR_COLUMNS. share: the part that is
 * done, 0 to 1. */
void bar_text(char text[BAR_COLUMNS + 1], const char *what, double share, double elapsed_s,
              const char *more);
/* Draws over the line before. At a share of 1 the line becomes empty, and the bar is as at
 * first. */
void bar_draw(struct bar *bar, const char *what, double share, const char *more);
