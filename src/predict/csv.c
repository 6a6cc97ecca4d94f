/* A reader of comma-separated tables. */
#include "predict/csv.h"
#include <string.h>

/* Splits the next line. Returns false at the end of the text. */
static bool split(struct csv *csv, struct view cells[CSV_COLUMNS_MAX], int *n_cells)
{
    do {
        if (*csv->at == '\0')
            return false;
        const char *end = strchr(csv->at, '\n');
        size_t n_line = end != NULL ? (size_t)(end - csv->at) : strlen(csv->at);
        const char *at = csv->at, *stop = at + n_line;
        csv->at = end != NULL ? end + 1 : stop;
        csv->line++;
        if (stop > at && stop[-1] == '\r')
            stop--;
        *n_cells = 0;
        if (at == stop || *at == '#')
            continue;
        while (*n_cells < CSV_COLUMNS_MAX) {
            const char *comma = memchr(at, ',', (size_t)(stop - at));
            const char *cell_end = comma != NULL ? comma : stop;
            cells[(*n_cells)++] = view_of(at, (size_t)(cell_end - at));
            if (comma == NULL)
                break;
            at = comma + 1;
        }
    } while (*n_cells == 0);
    return true;
}

enum status csv_open(struct csv *csv, const char *text, struct fault *fault)
{
    *csv = (struct csv){ .at = text };
    if (!split(csv, csv->names, &csv->n_columns))
        return fault_set(fault, STATUS_BAD_INPUT, "the table is empty");
    return STATUS_OK;
}

int csv_column(const struct csv *csv, const char *name, struct fault *fault)
{
    for (int i = 0; i < csv->n_columns; i++)
        if (view_equal_text(csv->names[i], name))
            return i;
    (void)fault_set(fault, STATUS_BAD_INPUT, "the table has no column %s", name);
    return -1;
}

bool csv_next(struct csv *csv)
{
    int n;
    if (!split(csv, csv->cells, &n))
        return false;
    for (; n < csv->n_columns; n++)
        csv->cells[n] = view_of("", 0);
    return true;
}

double csv_f64(const struct csv *csv, int column)
{
    char text[64];
    double value;
    struct view cell = csv->cells[column];
    if (cell.n >= sizeof(text))
        return 0;
    memcpy(text, cell.at, cell.n);
    text[cell.n] = '\0';
    return parse_f64(text, &value) ? value : 0;
}

bool csv_is(const struct csv *csv, int column, const char *text)
{
    return view_equal_text(csv->cells[column], text);
}
