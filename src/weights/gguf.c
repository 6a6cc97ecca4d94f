/* The GGUF reader: one pass over the header, every number checked before it is used.
 *
 *   "GGUF" | u32 version (2, 3) | u64 n_tensors | u64 n_values
 *   n_values  x { text key | u32 type | value }
 *   n_tensors x { text name | u32 n_dims | u64 dims[n_dims] | u32 type | u64 offset }
 *   padding to `general.alignment` (32)
 *   the data: tensor i at offset i from here, offsets are multiples of the alignment
 *
 * text = u64 n, n bytes; array = u32 element type, u64 n, n elements. All little-endian; version 3
 * may be big-endian, which is refused. dims[0] is the innermost: a row. A split set
 * `name-00001-of-0000N.gguf` has its metadata in part 1. Each part lists the tensors whose data it
 * holds; `split.no` counts from 0. Invariant: a value that was stored lies inside the file with all
 * its elements. */
#include "weights/gguf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "weights/foreign.h"
#include "weights/gguf_meta.h"
#include <stdio.h>
#include <string.h>

#define PATH_BYTES_MAX   4096
#define VALUE_BYTES_MIN  13 /* empty key, type, one byte */
#define TENSOR_BYTES_MIN 24 /* empty name, no dimension, type, offset */
#define KEY_BYTES_MAX    ((uint64_t)65535)
#define ALIGNMENT_MAX    ((int64_t)1 << 30)

/* Reads forward. Once a read would pass the end, is_short is set and all reads give 0. */
struct cursor {
    const unsigned char *at;
    size_t n, position;
    bool is_short;
};

static const unsigned char *take(struct cursor *cursor, uint64_t n)
{
    if (cursor->is_short || n > cursor->n - cursor->position) {
        cursor->is_short = true;
        return NULL;
    }
    const unsigned char *at = cursor->at + cursor->position;
    cursor->position += (size_t)n;
    return at;
}

static uint32_t take_u32(struct cursor *cursor)
{
    uint32_t x = 0;
    const unsigned char *at = take(cursor, sizeof(x));
    if (at != NULL)
        memcpy(&x, at, sizeof(x));
    return x;
}

static uint64_t take_u64(struct cursor *cursor)
{
    uint64_t x = 0;
    const unsigned char *at = take(cursor, sizeof(x));
    if (at != NULL)
        memcpy(&x, at, sizeof(x));
    return x;
}

static struct view take_text(struct cursor *cursor)
{
    uint64_t n = take_u64(cursor);
    const unsigned char *at = take(cursor, n);
    return at != NULL ? view_of((const char *)at, (size_t)n) : view_of("", 0);
}

static const uint8_t type_bytes[GGUF_N] = {
    [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
    [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
};
/* ggml's names of tensor types. The dtype is DTYPE_N when there is no kernel. */
static const struct {
    uint32_t id;
    enum dtype dtype;
    const char *name;
} tensor_types[] = {
    { 0, DTYPE_F32, "F32" },        { 1, DTYPE_F16, "F16" },      { 2, DTYPE_Q4_0, "Q4_0" },
    { 3, DTYPE_Q4_1, "Q4_1" },      { 6, DTYPE_Q5_0, "Q5_0" },    { 7, DTYPE_Q5_1, "Q5_1" },
    { 8, DTYPE_Q8_0, "Q8_0" },      { 9, DTYPE_N, "Q8_1" },       { 10, DTYPE_Q2_K, "Q2_K" },
    { 11, DTYPE_Q3_K, "Q3_K" },     { 12, DTYPE_Q4_K, "Q4_K" },   { 13, DTYPE_Q5_K, "Q5_K" },
    { 14, DTYPE_Q6_K, "Q6_K" },     { 15, DTYPE_N, "Q8_K" },      { 16, DTYPE_N, "IQ2_XXS" },
    { 17, DTYPE_N, "IQ2_XS" },      { 18, DTYPE_N, "IQ3_XXS" },   { 19, DTYPE_N, "IQ1_S" },
    { 20, DTYPE_IQ4_NL, "IQ4_NL" }, { 21, DTYPE_N, "IQ3_S" },     { 22, DTYPE_N, "IQ2_S" },
    { 23, DTYPE_IQ4_XS, "IQ4_XS" }, { 24, DTYPE_N, "I8" },        { 25, DTYPE_N, "I16" },
    { 26, DTYPE_N, "I32" },         { 27, DTYPE_N, "I64" },       { 28, DTYPE_N, "F64" },
    { 29, DTYPE_N, "IQ1_M" },       { 30, DTYPE_BF16, "BF16" },   { 34, DTYPE_TQ1_0, "TQ1_0" },
    { 35, DTYPE_TQ2_0, "TQ2_0" },   { 39, DTYPE_MXFP4, "MXFP4" },
};

static enum status refuse(const struct weights_gguf *gguf, const char *what, struct fault *fault)
{
    return fault_set(fault, STATUS_BAD_INPUT, "%s: %s", gguf->label, what);
}

/* Keys are shown in faults, so they are clean text. */
static bool is_clean_key(struct view key)
{
    for (size_t i = 0; i < key.n; i++)
        if ((unsigned char)key.at[i] <= ' ' || (unsigned char)key.at[i] >= 0x7f)
            return false;
    return key.n > 0 && key.n <= KEY_BYTES_MAX;
}

static enum status read_array(const struct weights_gguf *gguf, struct cursor *cursor,
                              struct weights_gguf_value *value, struct fault *fault)
{
    value->of = take_u32(cursor);
    value->n = take_u64(cursor);
    int n_shown = (int)(value->key.n < 80 ? value->key.n : 80);
    if (value->of >= GGUF_N || value->of == GGUF_ARRAY)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: the elements of %.*s are %s", gguf->label,
                         n_shown, value->key.at, weights_gguf_meta_type(value->of));
    uint64_t element = value->of == GGUF_TEXT ? sizeof(uint64_t) : type_bytes[value->of];
    size_t left = cursor->n - cursor->position;
    if (cursor->is_short || value->n > left / element)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: %.*s claims %llu elements, more than the file holds", gguf->label,
                         n_shown, value->key.at, (unsigned long long)value->n);
    value->at = cursor->at + cursor->position;
    if (value->of == GGUF_TEXT) {
        for (uint64_t i = 0; i < value->n && !cursor->is_short; i++)
            take_text(cursor);
        if (cursor->is_short)
            return fault_set(fault, STATUS_BAD_INPUT, "%s: a text in %.*s runs past the file's end",
                             gguf->label, n_shown, value->key.at);
    } else {
        take(cursor, value->n * element);
    }
    value->n_bytes = (size_t)(cursor->at + cursor->position - value->at);
    return STATUS_OK;
}

static enum status read_value(const struct weights_gguf *gguf, struct cursor *cursor,
                              struct weights_gguf_value *value, struct fault *fault)
{
    value->key = take_text(cursor);
    value->type = take_u32(cursor);
    if (cursor->is_short)
        return refuse(gguf, "the metadata runs past the file's end", fault);
    if (!is_clean_key(value->key))
        return refuse(gguf, "a metadata key isn't plain text", fault);
    int n_shown = (int)(value->key.n < 80 ? value->key.n : 80);
    if (value->type >= GGUF_N)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %.*s has type %u, which doesn't exist",
                         gguf->label, n_shown, value->key.at, value->type);
    if (value->type == GGUF_ARRAY)
        return read_array(gguf, cursor, value, fault);
    value->n = value->type == GGUF_TEXT ? take_u64(cursor) : type_bytes[value->type];
    value->at = take(cursor, value->n);
    if (value->at == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: %.*s runs past the file's end", gguf->label,
                         n_shown, value->key.at);
    value->n_bytes = (size_t)value->n;
    return STATUS_OK;
}

static uint64_t key_hash(struct view key)
{
    return hash_fast(key.at, key.n, 0).low;
}

static enum status read_values(struct weights_gguf *gguf, struct cursor *cursor, uint64_t n,
                               struct fault *fault)
{
    gguf->values = pile_take(&gguf->pile, (size_t)n * sizeof(*gguf->values));
    map_init(&gguf->by_key, (uint32_t)n + 1);
    for (uint64_t i = 0; i < n; i++) {
        struct weights_gguf_value *value = &gguf->values[i];
        enum status status = read_value(gguf, cursor, value, fault);
        if (status != STATUS_OK)
            return status;
        uint64_t key = key_hash(value->key);
        if (map_find(&gguf->by_key, key) != MAP_NONE)
            return fault_set(fault, STATUS_BAD_INPUT, "%s: %.*s appears twice", gguf->label,
                             (int)(value->key.n < 80 ? value->key.n : 80), value->key.at);
        CHECK(map_put(&gguf->by_key, key, (uint32_t)i));
        gguf->n_values = (int32_t)i + 1;
    }
    return STATUS_OK;
}

static void set_type(struct weights_entry *entry, uint32_t id)
{
    entry->dtype = DTYPE_N;
    entry->type = "an unknown type";
    for (size_t i = 0; i < COUNT_OF(tensor_types); i++)
        if (tensor_types[i].id == id) {
            entry->dtype = tensor_types[i].dtype;
            entry->type = tensor_types[i].name;
        }
}

/* Reads a tensor's entry. entry.data is just the offset until the start of the data is known. */
static enum status read_tensor(struct weights_gguf *gguf, struct cursor *cursor, uint64_t *offset,
                               struct fault *fault)
{
    struct weights_entry entry = { 0 };
    struct view name = take_text(cursor);
    uint32_t n_dims = take_u32(cursor);
    if (!cursor->is_short && n_dims > CATALOG_DIMS)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: tensor %d has %u dimensions, at most %d are",
                         gguf->label, gguf->catalog.n, n_dims, CATALOG_DIMS);
    for (uint32_t i = 0; i < n_dims && !cursor->is_short; i++) {
        uint64_t n = take_u64(cursor);
        entry.dims[i] = n > INT64_MAX ? -1 : (int64_t)n;
    }
    set_type(&entry, take_u32(cursor));
    *offset = take_u64(cursor);
    if (cursor->is_short)
        return refuse(gguf, "the table of tensors runs past the file's end", fault);
    entry.name = name.at;
    entry.n_dims = (int32_t)n_dims;
    return weights_catalog_add(&gguf->catalog, entry, name.n, fault);
}

/* Sets the place of this part's tensors: those of the catalog from first on. Offsets count from the
 * start of the part's data. */
static enum status place_tensors(struct weights_gguf *gguf, const struct cursor *cursor,
                                 int32_t first, const uint64_t *offsets, struct fault *fault)
{
    int64_t alignment = 32;
    enum status status =
        weights_gguf_meta_i64(gguf, "general.alignment", 1, ALIGNMENT_MAX, &alignment, fault);
    if (status != STATUS_OK)
        return status;
    if (alignment < 8 || (alignment & (alignment - 1)) != 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: general.alignment is %lld, expected a power of two from 8",
                         gguf->label, (long long)alignment);
    uint64_t start = align_up_u64(cursor->position, (uint64_t)alignment);
    for (int32_t i = first; i < gguf->catalog.n; i++) {
        struct weights_entry *entry = &gguf->catalog.at[i];
        uint64_t offset = offsets[i - first];
        if (offset % (uint64_t)alignment != 0)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "%s: tensor %s lies at offset %llu, not a multiple of %lld",
                             gguf->label, entry->name, (unsigned long long)offset,
                             (long long)alignment);
        if (start > cursor->n || offset > cursor->n - start ||
            entry->n_bytes > cursor->n - start - offset)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "%s: tensor %s of %llu bytes at offset %llu lies outside the file",
                             gguf->label, entry->name, (unsigned long long)entry->n_bytes,
                             (unsigned long long)offset);
        entry->data = cursor->at + start + offset;
    }
    return STATUS_OK;
}

static enum status check_head(struct weights_gguf *gguf, struct cursor *cursor, uint64_t *n_tensors,
                              uint64_t *n_values, struct fault *fault)
{
    struct view bytes = view_of((const char *)cursor->at, cursor->n);
    const unsigned char *magic = take(cursor, 4);
    enum status status = weights_foreign_pointer(bytes, gguf->label, fault);
    if (status != STATUS_OK)
        return status;
    if (magic == NULL || memcmp(magic, "GGUF", 4) != 0) {
        const char *kind = weights_foreign_kind(bytes);
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: not a GGUF file (the first four bytes aren't \"GGUF\"%s%s)",
                         gguf->label, kind[0] != '\0' ? "; " : "", kind);
    }
    gguf->version = take_u32(cursor);
    if (gguf->version != 2 && gguf->version != 3)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: GGUF version %u%s, and only 2 and 3 are supported", gguf->label,
                         gguf->version,
                         (gguf->version & 0xffff) == 0 ? " (a big-endian file?)" : "");
    *n_tensors = take_u64(cursor);
    *n_values = take_u64(cursor);
    if (cursor->is_short)
        return refuse(gguf, "the file ends inside its header", fault);
    size_t left = cursor->n - cursor->position;
    if (*n_values > left / VALUE_BYTES_MIN || *n_tensors > left / TENSOR_BYTES_MIN)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: the header claims %llu values and %llu tensors, more than the file "
                         "holds",
                         gguf->label, (unsigned long long)*n_values,
                         (unsigned long long)*n_tensors);
    if (*n_values > GGUF_VALUES_MAX || *n_tensors > CATALOG_TENSORS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "%s: %llu values and %llu tensors, at most %d and %d are read",
                         gguf->label, (unsigned long long)*n_values, (unsigned long long)*n_tensors,
                         GGUF_VALUES_MAX, CATALOG_TENSORS_MAX);
    return STATUS_OK;
}

/* Reads one part: its values become gguf's, its tensors join the catalog. */
static enum status read_part(struct weights_gguf *gguf, const void *bytes, size_t n_bytes,
                             struct fault *fault)
{
    struct cursor cursor = { .at = bytes, .n = n_bytes };
    uint64_t n_tensors = 0, n_values = 0;
    enum status status = check_head(gguf, &cursor, &n_tensors, &n_values, fault);
    if (status == STATUS_OK)
        status = read_values(gguf, &cursor, n_values, fault);
    if (status != STATUS_OK)
        return status;
    uint64_t *offsets = mem_take((size_t)n_tensors * sizeof(*offsets));
    int32_t first = gguf->catalog.n;
    for (uint64_t i = 0; i < n_tensors && status == STATUS_OK; i++)
        status = read_tensor(gguf, &cursor, &offsets[i], fault);
    if (status == STATUS_OK)
        status = place_tensors(gguf, &cursor, first, offsets, fault);
    mem_give(offsets);
    return status;
}

static void set_label(struct weights_gguf *gguf, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(gguf->label, sizeof(gguf->label), "gguf: %.80s", slash != NULL ? slash + 1 : path);
}

static void init(struct weights_gguf *gguf, const char *path)
{
    *gguf = (struct weights_gguf){ 0 };
    pile_init(&gguf->pile);
    set_label(gguf, path);
    weights_catalog_init(&gguf->catalog, &gguf->pile, gguf->label);
}

enum status weights_gguf_read(struct weights_gguf *gguf, const void *bytes, size_t n_bytes,
                              struct fault *fault)
{
    init(gguf, "memory");
    enum status status = read_part(gguf, bytes, n_bytes, fault);
    if (status == STATUS_OK)
        status = weights_catalog_seal(&gguf->catalog, fault);
    if (status != STATUS_OK)
        weights_gguf_close(gguf);
    return status;
}

/* Parses "x-00002-of-00003.gguf". Returns N and sets the bytes before "-00002"; 0 for another
 * name. */
static uint32_t parse_split_name(const char *path, size_t *n_stem)
{
    enum { TAIL_BYTES = 20 }; /* -ddddd-of-ddddd.gguf */
    size_t n = strlen(path);
    if (n < TAIL_BYTES)
        return 0;
    const char *tail = path + n - TAIL_BYTES;
    uint32_t n_parts = 0;
    for (int i = 1; i < 6; i++)
        if (tail[i] < '0' || tail[i] > '9' || tail[9 + i] < '0' || tail[9 + i] > '9')
            return 0;
        else
            n_parts = 10 * n_parts + (uint32_t)(tail[9 + i] - '0');
    if (tail[0] != '-' || memcmp(tail + 6, "-of-", 4) != 0 || strcmp(tail + 15, ".gguf") != 0)
        return 0;
    *n_stem = n - TAIL_BYTES;
    return n_parts;
}

static void forget_values(struct weights_gguf *gguf)
{
    map_free(&gguf->by_key);
    gguf->values = NULL;
    gguf->n_values = 0;
}

static enum status check_part(const struct weights_gguf *gguf, uint32_t part, struct fault *fault)
{
    int64_t number = 0, count = gguf->n_parts > 1 ? 0 : 1;
    enum status status = weights_gguf_meta_i64(gguf, "split.no", 0, INT32_MAX, &number, fault);
    if (status == STATUS_OK)
        status = weights_gguf_meta_i64(gguf, "split.count", 0, INT32_MAX, &count, fault);
    if (status != STATUS_OK)
        return status;
    count = count == 0 && gguf->n_parts == 1 ? 1 : count;
    if (number != (int64_t)part || count != (int64_t)gguf->n_parts)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: split.no is %lld of split.count %lld, its name says part %u of %u",
                         gguf->label, (long long)number, (long long)count, part, gguf->n_parts);
    return STATUS_OK;
}

/* Opens a part. Only the first part's values are kept; those of others are just checked. */
static enum status open_part(struct weights_gguf *gguf, uint32_t part, const char *name,
                             struct fault *fault)
{
    struct weights_gguf_value *values = gguf->values;
    int32_t n_values = gguf->n_values;
    struct map by_key = gguf->by_key;
    struct file_map *map = &gguf->maps[part];
    set_label(gguf, name);
    enum status status = file_map_open(map, name, fault);
    if (status != STATUS_OK)
        return status;
    gguf->by_key = (struct map){ 0 };
    gguf->n_values = 0;
    status = read_part(gguf, map->at, map->n_bytes, fault);
    if (status == STATUS_OK)
        status = check_part(gguf, part, fault);
    if (part == 0)
        return status;
    forget_values(gguf);
    gguf->values = values;
    gguf->n_values = n_values;
    gguf->by_key = by_key;
    return status;
}

static enum status open_parts(struct weights_gguf *gguf, const char *path, size_t n_stem,
                              struct fault *fault)
{
    char name[PATH_BYTES_MAX];
    for (uint32_t part = 0; part < gguf->n_parts; part++) {
        if (gguf->n_parts == 1)
            snprintf(name, sizeof(name), "%s", path);
        else
            snprintf(name, sizeof(name), "%.*s-%05u-of-%05u.gguf", (int)n_stem, path, part + 1,
                     gguf->n_parts);
        enum status status = open_part(gguf, part, name, fault);
        if (status != STATUS_OK)
            return status;
    }
    int64_t n_tensors = gguf->catalog.n;
    enum status status =
        weights_gguf_meta_i64(gguf, "split.tensors.count", 0, INT32_MAX, &n_tensors, fault);
    if (status != STATUS_OK)
        return status;
    if (gguf->n_parts > 1 && n_tensors != gguf->catalog.n)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: split.tensors.count is %lld, the parts hold %d tensors", gguf->label,
                         (long long)n_tensors, gguf->catalog.n);
    return weights_catalog_seal(&gguf->catalog, fault);
}

enum status weights_gguf_open(struct weights_gguf *gguf, const char *path, struct fault *fault)
{
    size_t n_stem = 0;
    init(gguf, path);
    uint32_t n_parts = parse_split_name(path, &n_stem);
    if (n_parts > GGUF_PARTS_MAX || strlen(path) >= PATH_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "%s: %u parts, at most %d are read", gguf->label,
                         n_parts, GGUF_PARTS_MAX);
    gguf->n_parts = n_parts > 0 ? n_parts : 1;
    gguf->maps = pile_take(&gguf->pile, gguf->n_parts * sizeof(*gguf->maps));
    enum status status = open_parts(gguf, path, n_stem, fault);
    if (status != STATUS_OK)
        weights_gguf_close(gguf);
    return status;
}

void weights_gguf_close(struct weights_gguf *gguf)
{
    for (uint32_t i = 0; gguf->maps != NULL && i < gguf->n_parts; i++)
        if (gguf->maps[i].at != NULL)
            file_map_close(&gguf->maps[i]);
    forget_values(gguf);
    weights_catalog_free(&gguf->catalog);
    pile_free(&gguf->pile);
}
