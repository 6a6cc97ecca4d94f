/* Answers tools/model_differential.py: `logits < questions > answers`, a line each.
 *
 *   question  PATH tab N_ROWS tab ids between spaces
 *   answer    "ok" tab the logits of the last N_ROWS ids, or "refused" tab the sentence; of an
 *             encoder the last layer's rows
 *
 * `logits keys` prints the tables of keys: "hf" or "gguf", use, families ("*": all,
 * "!" ahead: all others), name. */
#include "passes.h"
#include "base/mem.h"
#include "weights/gguf_keys.h"
#include "weights/hf_keys.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 1 << 16, IDS_MAX = 4096 };

static void print_keys(const char *format, const struct weights_key *rows)
{
    static const char *const uses[] = { "read", "fixed", "inert" };
    for (const struct weights_key *row = rows; row->name != NULL; row++)
        printf("%s\t%s\t%s\t%s\n", format, uses[row->use],
               row->families != NULL ? row->families : "*", row->name);
}

static void answer(const char *path, int32_t n_rows, const int32_t *ids, int32_t n)
{
    struct passes p;
    struct fault fault = { "" };
    if (passes_open(&p, path, compute_reference_open(COMPUTE_ARITHMETIC_CPU), DTYPE_F32, n + 1,
                    &fault) != STATUS_OK) {
        printf("refused\t%s\n", fault.text);
        return;
    }
    const struct model_spec *spec = weights_spec(p.model.weights);
    int32_t n_row = spec->is_encoder ? spec->width : passes_n_vocabulary(&p);
    size_t n_logits = (size_t)n_row * (size_t)n_rows;
    float *logits = mem_take(sizeof(*logits) * n_logits);
    if (spec->is_encoder)
        passes_vectors(&p, ids, n, n_rows, logits);
    else
        passes_run(&p, ids, 0, n, n_rows, logits);
    printf("ok\t");
    for (size_t i = 0; i < n_logits; i++)
        printf("%.9g ", (double)logits[i]);
    printf("\n");
    mem_give(logits);
    passes_close(&p);
}

int main(int argc, char **argv)
{
    static char line[LINE_BYTES_MAX];
    static int32_t ids[IDS_MAX];
    if (argc > 1 && strcmp(argv[1], "keys") == 0) {
        print_keys("hf", weights_hf_keys());
        print_keys("gguf", weights_gguf_keys());
        return 0;
    }
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *rest = strchr(line, '\t'), *end;
        int32_t n = 0;
        if (rest == NULL)
            return 1;
        *rest++ = '\0';
        int32_t n_rows = (int32_t)strtol(rest, &end, 10);
        for (rest = end; n < IDS_MAX; rest = end) {
            long id = strtol(rest, &end, 10);
            if (end == rest)
                break;
            ids[n++] = (int32_t)id;
        }
        if (n_rows < 1 || n_rows > n)
            return 1;
        answer(line, n_rows, ids, n);
        fflush(stdout);
    }
    return 0;
}
