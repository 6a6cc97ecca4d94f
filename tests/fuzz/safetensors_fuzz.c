/* Fuzzes the safetensors reader and the JSON under it: accepted tensors lie inside the bytes. */
#include "base/mem.h"
#include "weights/safetensors.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static volatile unsigned sink; /* keeps reads alive */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct weights_safetensors set;
    struct fault fault = { 0 };
    uint8_t *copy = mem_take(n);
    memcpy(copy, bytes, n);
    if (weights_safetensors_read(&set, copy, n, &fault) == STATUS_OK) {
        for (int32_t i = 0; i < set.catalog.n; i++) {
            const struct weights_entry *entry = &set.catalog.at[i];
            CHECK(weights_catalog_find(&set.catalog, entry->name) == entry);
            if (entry->n_bytes > 0)
                sink += entry->data[0] + entry->data[entry->n_bytes - 1];
        }
        weights_safetensors_close(&set);
    } else {
        CHECK(fault.text[0] != '\0');
    }
    mem_give(copy);
    return 0;
}
