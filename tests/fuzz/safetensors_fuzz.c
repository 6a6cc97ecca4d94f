/* Fuzzes the safetensors reader, the JSON under it, and the parts of quantized matrices: accepted
 * tensors lie inside the bytes.
 *
 * An input that begins with 'D' is a directory: index and shard "a", each with its length in two
 * bytes before it, then shard "b". An empty index leaves a directory with one file. */
#include "scratch.h"
#include "base/mem.h"
#include "compute/quant.h"
#include "weights/apart.h"
#include "weights/safetensors.h"
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static volatile unsigned sink; /* keeps reads alive */

/* Reads every row of an accepted matrix that is not too large. */
static void read_rows(const struct tensor *whole)
{
    enum { COLUMNS = 1024, ROWS = 64 };
    float row[COLUMNS];
    CHECK(whole->data != NULL && whole->apart != NULL);
    for (int32_t i = 0; i < whole->n_rows && whole->n_rows <= ROWS; i++)
        if (whole->n_columns <= COLUMNS) {
            quant_row_to_float(whole, i, row);
            sink += row[0] > 0;
        }
}

/* Takes each tensor for the matrix of a module, in each method. */
static void check_parts(struct weights_safetensors *set)
{
    static const struct weights_quantization methods[] = {
        { WEIGHTS_GPTQ, 1, false, 1, { { false, true, false, 4, 1, 32 } } },
        { WEIGHTS_GPTQ, 1, true, 1, { { false, true, true, 8, 1, 0 } } },
        { WEIGHTS_AWQ, 0, false, 1, { { false, true, false, 4, 1, 64 } } },
        { WEIGHTS_FP8, 0, false, 1, { { true, false, true, 8, 128, 128 } } },
        { WEIGHTS_COMPRESSED,
          0,
          false,
          3,
          { { false, true, true, 4, 1, 128 },
            { false, true, false, 4, 1, 32 },
            { false, false, true, 8, 1, 0 } } },
    };
    for (size_t m = 0; m < COUNT_OF(methods); m++) {
        set->catalog.quantization = &methods[m];
        weights_apart_begin(&set->catalog);
        for (int32_t i = 0; i < set->catalog.n; i++) {
            const struct weights_entry *entry = &set->catalog.at[i];
            int n_stem = (int)(strcspn(entry->name, ".") + 1);
            char name[CATALOG_NAME_BYTES + 8];
            snprintf(name, sizeof(name), "%.*s.weight", n_stem - 1, entry->name);
            if (!weights_apart_has(&set->catalog, name) || entry->n_dims > 2)
                continue;
            const int64_t per = methods[m].schemes[0].n_bits == 4 ? 8 : 4;
            const int64_t sizes[][2] = { { entry->dims[1], entry->dims[0] },
                                         { entry->dims[1], entry->dims[0] * per },
                                         { entry->dims[0], entry->dims[1] * per },
                                         { entry->dims[0] * per, entry->dims[1] } };
            for (size_t k = 0; k < COUNT_OF(sizes); k++) {
                struct tensor whole = { 0 };
                struct fault fault = { 0 };
                if (sizes[k][0] > 1 << 20 || sizes[k][1] > 1 << 20)
                    continue;
                if (weights_apart_find(&set->catalog, name, sizes[k], &whole, &fault) == STATUS_OK)
                    read_rows(&whole);
                else
                    CHECK(fault.text[0] != '\0');
            }
        }
    }
}

static void check_set(struct weights_safetensors *set)
{
    for (int32_t i = 0; i < set->catalog.n; i++) {
        const struct weights_entry *entry = &set->catalog.at[i];
        CHECK(weights_catalog_find(&set->catalog, entry->name) == entry);
        if (entry->n_bytes > 0)
            sink += entry->data[0] + entry->data[entry->n_bytes - 1];
    }
    check_parts(set);
}

static void read_directory(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = { "model.safetensors.index.json", "a", "b",
                                         "model.safetensors", NULL };
    struct weights_safetensors set;
    struct fault fault = { 0 };
    size_t n_index, n_first;
    const uint8_t *index = scratch_cut(&bytes, &n, &n_index);
    const uint8_t *first = scratch_cut(&bytes, &n, &n_first);
    scratch_begin(names);
    if (n_index > 0) {
        scratch_write(names[0], index, n_index);
        scratch_write(names[1], first, n_first);
        scratch_write(names[2], bytes, n);
    } else if (n_first > 0) {
        scratch_write(names[3], first, n_first);
    }
    if (weights_safetensors_open(&set, scratch_path(NULL), &fault) == STATUS_OK) {
        check_set(&set);
        weights_safetensors_close(&set);
    } else {
        CHECK(fault.text[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct weights_safetensors set;
    struct fault fault = { 0 };
    if (n > 0 && bytes[0] == 'D') {
        read_directory(bytes + 1, n - 1);
        return 0;
    }
    uint8_t *copy = mem_take(n);
    memcpy(copy, bytes, n);
    if (weights_safetensors_read(&set, copy, n, &fault) == STATUS_OK) {
        check_set(&set);
        weights_safetensors_close(&set);
    } else {
        CHECK(fault.text[0] != '\0');
    }
    mem_give(copy);
    return 0;
}
