/* Tensors by name: a growing array, and an index by hash of the name once all are in. */
#include "weights/catalog.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include <stdio.h>
#include <string.h>

#define ELEMENTS_MAX ((int64_t)1 << 58) /* times 4 bytes stays far inside int64 */

void weights_catalog_init(struct weights_catalog *catalog, struct pile *pile, const char *label)
{
    *catalog = (struct weights_catalog){ .label = label, .pile = pile };
}

void weights_catalog_free(struct weights_catalog *catalog)
{
    if (catalog->is_sealed)
        map_free(&catalog->by_name);
    mem_give(catalog->at);
    *catalog = (struct weights_catalog){ 0 };
}

static bool is_clean_name(struct view name)
{
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.at[i] <= ' ' || name.at[i] == 0x7f)
            return false;
    return name.n > 0 && name.n < CATALOG_NAME_BYTES && utf8_is_valid(name);
}

static enum status check_size(const struct weights_catalog *catalog, struct weights_entry *entry,
                              struct fault *fault)
{
    int64_t n = 1;
    for (int i = 0; i < CATALOG_DIMS; i++) {
        if (i >= entry->n_dims)
            entry->dims[i] = 1;
        if (entry->dims[i] < 1 || entry->dims[i] > ELEMENTS_MAX / n)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "%s: tensor %s has dimension %d of size %lld, which no file can hold",
                             catalog->label, entry->name, i, (long long)entry->dims[i]);
        n *= entry->dims[i];
    }
    entry->n_bytes = 0;
    if (entry->dtype == DTYPE_N)
        return STATUS_OK;
    int64_t row_bytes = dtype_row_bytes(entry->dtype, entry->dims[0]);
    if (row_bytes < 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: tensor %s has rows of %lld elements, not a multiple of %s's %d",
                         catalog->label, entry->name, (long long)entry->dims[0], entry->type,
                         dtype_info(entry->dtype)->n_block);
    entry->n_bytes = (uint64_t)row_bytes * (uint64_t)(n / entry->dims[0]);
    return STATUS_OK;
}

enum status weights_catalog_add(struct weights_catalog *catalog, struct weights_entry entry,
                                size_t n_name, struct fault *fault)
{
    CHECK(!catalog->is_sealed && entry.n_dims >= 0 && entry.n_dims <= CATALOG_DIMS);
    if (catalog->n == CATALOG_TENSORS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "%s: more than %d tensors", catalog->label,
                         CATALOG_TENSORS_MAX);
    if (!is_clean_name(view_of(entry.name, n_name)))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: the name of tensor %d isn't 1 to %d bytes of plain text",
                         catalog->label, catalog->n, CATALOG_NAME_BYTES - 1);
    if (catalog->n == catalog->capacity) {
        int32_t capacity = catalog->capacity > 0 ? 2 * catalog->capacity : 64;
        catalog->at = mem_grow(catalog->at, sizeof(entry) * (size_t)catalog->capacity,
                               sizeof(entry) * (size_t)capacity);
        catalog->capacity = capacity;
    }
    entry.name = pile_text(catalog->pile, entry.name, n_name);
    enum status status = check_size(catalog, &entry, fault);
    if (status == STATUS_OK)
        catalog->at[catalog->n++] = entry;
    return status;
}

static uint64_t key_of(const char *name)
{
    return hash_fast(name, strlen(name), 0).low;
}

enum status weights_catalog_seal(struct weights_catalog *catalog, struct fault *fault)
{
    CHECK(!catalog->is_sealed);
    map_init(&catalog->by_name, (uint32_t)catalog->n + 1);
    catalog->is_sealed = true;
    for (int32_t i = 0; i < catalog->n; i++) {
        uint64_t key = key_of(catalog->at[i].name);
        if (map_find(&catalog->by_name, key) != MAP_NONE)
            return fault_set(fault, STATUS_BAD_INPUT, "%s: tensor %s appears twice", catalog->label,
                             catalog->at[i].name);
        CHECK(map_put(&catalog->by_name, key, (uint32_t)i));
    }
    return STATUS_OK;
}

struct weights_entry *weights_catalog_find(const struct weights_catalog *catalog, const char *name)
{
    CHECK(catalog->is_sealed);
    uint32_t index = map_find(&catalog->by_name, key_of(name));
    if (index == MAP_NONE || strcmp(catalog->at[index].name, name) != 0 ||
        catalog->at[index].is_void)
        return NULL;
    return &catalog->at[index];
}

struct tensor weights_catalog_tensor(const struct weights_entry *entry)
{
    int64_t n_rows = entry->dims[1] * entry->dims[2] * entry->dims[3];
    if (entry->dtype == DTYPE_N || n_rows > INT32_MAX || entry->dims[0] > INT32_MAX)
        return (struct tensor){ 0 };
    return (struct tensor){
        .data = entry->data,
        .dtype = entry->dtype,
        .n_rows = (int32_t)n_rows,
        .n_columns = (int32_t)entry->dims[0],
        .row_bytes = dtype_row_bytes(entry->dtype, entry->dims[0]),
    };
}

#define SAMPLE_BYTES 1024 /* of each end of a tensor, for the hash */

static int64_t n_parameters(const struct weights_entry *entry)
{
    int64_t n = entry->dims[0] * entry->dims[1] * entry->dims[2] * entry->dims[3];
    return entry->is_aside ? 0 : n * max_i32(entry->n_packed, 1);
}

enum status weights_catalog_count(const struct weights_catalog *catalog, int64_t *n,
                                  struct fault *fault)
{
    *n = 0;
    for (int32_t i = 0; i < catalog->n; i++) {
        *n += catalog->at[i].is_used ? n_parameters(&catalog->at[i]) : 0;
        if (*n > 4 * ELEMENTS_MAX)
            return fault_set(fault, STATUS_BAD_INPUT, "%s: more elements than any file holds",
                             catalog->label);
    }
    return STATUS_OK;
}

void weights_catalog_print_dims(const struct weights_entry *entry, char *text, size_t n_bytes)
{
    size_t n = (size_t)snprintf(text, n_bytes, "(");
    for (int i = entry->n_dims - 1; i >= 0 && n < n_bytes; i--)
        n += (size_t)snprintf(text + n, n_bytes - n, "%lld%s", (long long)entry->dims[i],
                              i > 0 ? ", " : "");
    if (n < n_bytes)
        snprintf(text + n, n_bytes - n, ")");
}

static uint64_t hash_entry(const struct weights_entry *entry, uint64_t hash)
{
    hash = hash_fast(entry->name, strlen(entry->name), hash).low;
    hash = hash_fast(entry->type, strlen(entry->type), hash).low;
    hash = hash_fast(entry->dims, sizeof(entry->dims), hash).low;
    if (entry->n_bytes <= 2 * SAMPLE_BYTES)
        return hash_fast(entry->data, entry->n_bytes, hash).low;
    hash = hash_fast(entry->data, SAMPLE_BYTES, hash).low;
    return hash_fast(entry->data + entry->n_bytes - SAMPLE_BYTES, SAMPLE_BYTES, hash).low;
}

uint64_t weights_catalog_hash(const struct weights_catalog *catalog)
{
    uint64_t hash = 0;
    for (int32_t i = 0; i < catalog->n; i++)
        hash += hash_entry(&catalog->at[i], 0);
    return hash;
}
