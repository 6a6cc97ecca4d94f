/* Every length predictor over a table of lengths, in its order: calibration, and what it costs.
 *
 * usage: length TABLE.csv INPUT_COLUMN OUTPUT_COLUMN [GUESS_COLUMN]. A table has no tokens, so
 * bucket sees the prompt's length alone. */
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "predict/csv.h"
#include "predict/length.h"
#include <stdio.h>

static void run(const char *name, const char *text, const int columns[3])
{
    struct length_book book;
    struct length_config config;
    struct csv csv;
    struct fault fault;
    struct str line;
    int64_t n = 0, ns = time_now_ns();
    length_config_init(&config);
    length_book_open(&book, length_find(name), &config, 1);
    if (csv_open(&csv, text, &fault) != STATUS_OK)
        return;
    for (; csv_next(&csv); n++) {
        int32_t n_output = (int32_t)csv_f64(&csv, columns[1]);
        bool is_guess = book.predictor->hint == LENGTH_HINT_GUESS;
        struct length_query query = { .id = (uint64_t)n,
                                      .n_prompt = (int32_t)csv_f64(&csv, columns[0]),
                                      .hint = n_output };
        if (is_guess)
            query.hint = columns[2] >= 0 ? (int32_t)csv_f64(&csv, columns[2]) : 0;
        length_book_observe(&book, &query, length_book_predict(&book, &query, 0), n_output);
    }
    ns = time_now_ns() - ns;
    str_init(&line);
    length_calibration_print(&book.calibrations[0], name, &line);
    printf("%6.2f us  %s", (double)ns * 1e-3 / (double)(n > 0 ? n : 1), line.at);
    str_free(&line);
    length_book_close(&book);
}

int main(int argc, char **argv)
{
    char *text;
    size_t n_bytes;
    struct fault fault;
    struct csv csv;
    int columns[3] = { -1, -1, -1 }, n;
    if (argc < 4) {
        fprintf(stderr, "usage: length TABLE.csv INPUT_COLUMN OUTPUT_COLUMN [GUESS_COLUMN]\n");
        return 2;
    }
    if (file_read(argv[1], 256 << 20, &text, &n_bytes, &fault) != STATUS_OK ||
        csv_open(&csv, text, &fault) != STATUS_OK)
        goto fail;
    for (int i = 0; i < 3 && i + 2 < argc; i++) {
        columns[i] = csv_column(&csv, argv[i + 2], &fault);
        if (columns[i] < 0)
            goto fail;
    }
    const struct length_predictor *const *all = length_all(&n);
    for (int i = 0; i < n; i++)
        run(all[i]->name, text, columns);
    mem_give(text);
    return 0;
fail:
    fprintf(stderr, "length: %s\n", fault.text);
    return 1;
}
