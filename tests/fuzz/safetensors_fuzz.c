/* Fuzzes the safetensors reader and the JSON under it: accepted tensors lie inside the bytes.
 *
 * An input that begins with 'D' is a directory: index and shard "a", each with its length in two
 * bytes before it, then shard "b". An empty index leaves a directory with one file. */
#include "scratch.h"
#include "base/mem.h"
#include "weights/safetensors.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static volatile unsigned sink; /* keeps reads alive */

static void check_set(const struct weights_safetensors *set)
{
    for (int32_t i = 0; i < set->catalog.n; i++) {
        const struct weights_entry *entry = &set->catalog.at[i];
        CHECK(weights_catalog_find(&set->catalog, entry->name) == entry);
        if (entry->n_bytes > 0)
            sink += entry->data[0] + entry->data[entry->n_bytes - 1];
    }
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
