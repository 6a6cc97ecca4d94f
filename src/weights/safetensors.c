/* The safetensors reader.
 *
 *   u64 n | n bytes of JSON | data
 *   JSON: { "name": { "dtype": "F32", "shape": [rows, columns], "data_offsets": [begin, end] },
 * ...,
 *           "__metadata__": { text: text } }
 *
 * Little-endian; offsets count from the start of the data; the last dimension is the innermost.
 * Today's writers pad the header so that the data is aligned. The data of an older file may be
 * misaligned; such a part is copied once. */
#include "weights/safetensors.h"
#include "base/mem.h"
#include "weights/foreign.h"
#include "weights/json.h"
#include <stdio.h>
#include <string.h>

#define DATA_ALIGN      8
#define INDEX_BYTES_MAX ((size_t)64 << 20)
#define PATH_BYTES_MAX  4096

/* DTYPE_N: elements of these types, of n_bytes, are read as parts of quantized matrices at most. */
static const struct {
    const char *name;
    enum dtype dtype;
    int32_t n_bytes;
} types[] = {
    { "F32", DTYPE_F32, 4 }, { "F16", DTYPE_F16, 2 },   { "BF16", DTYPE_BF16, 2 },
    { "F64", DTYPE_N, 8 },   { "I64", DTYPE_N, 8 },     { "I32", DTYPE_N, 4 },
    { "I16", DTYPE_N, 2 },   { "I8", DTYPE_N, 1 },      { "U64", DTYPE_N, 8 },
    { "U32", DTYPE_N, 4 },   { "U16", DTYPE_N, 2 },     { "U8", DTYPE_N, 1 },
    { "BOOL", DTYPE_N, 1 },  { "F8_E4M3", DTYPE_N, 1 }, { "F8_E5M2", DTYPE_N, 1 },
};

/* One part of the set while it is read. */
struct part {
    struct weights_safetensors *set;
    const unsigned char *data;
    size_t n_bytes; /* of data */
    struct fault *fault;
};

static enum status refuse(const struct part *part, const char *name, const char *what)
{
    return fault_set(part->fault, STATUS_BAD_INPUT, "%s: tensor %.120s: %s", part->set->label, name,
                     what);
}

static enum status read_shape(const struct part *part, const struct weights_json_node *tensor,
                              struct weights_entry *entry)
{
    const struct weights_json_node *shape = weights_json_find(tensor, "shape");
    if (shape == NULL || shape->kind != WEIGHTS_JSON_ARRAY)
        return refuse(part, tensor->key, "shape isn't an array");
    if (shape->n > CATALOG_DIMS)
        return refuse(part, tensor->key, "shape has more than 4 dimensions");
    entry->n_dims = (int32_t)shape->n;
    const struct weights_json_node *value = shape + 1;
    for (uint32_t i = 0; i < shape->n; i++, value = weights_json_next(value))
        if (!weights_json_to_i64(value, &entry->dims[shape->n - 1 - i]))
            return refuse(part, tensor->key, "shape holds something that isn't an integer");
    return STATUS_OK;
}

static enum status read_type(const struct part *part, const struct weights_json_node *tensor,
                             struct weights_entry *entry, int32_t *n_bytes)
{
    const struct weights_json_node *dtype = weights_json_find(tensor, "dtype");
    if (dtype == NULL || dtype->kind != WEIGHTS_JSON_TEXT)
        return refuse(part, tensor->key, "dtype isn't a text");
    entry->dtype = DTYPE_N;
    entry->type = "an unknown type";
    *n_bytes = 0;
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (strcmp(types[i].name, dtype->text) == 0) {
            entry->dtype = types[i].dtype;
            entry->type = types[i].name;
            *n_bytes = types[i].n_bytes;
        }
    return STATUS_OK;
}

static enum status read_tensor(const struct part *part, const struct weights_json_node *tensor)
{
    struct weights_entry entry = { .name = tensor->key };
    int64_t begin = -1, end = -1;
    int32_t n_bytes = 0; /* of an element; 0: unknown */
    enum status status = read_shape(part, tensor, &entry);
    if (status == STATUS_OK)
        status = read_type(part, tensor, &entry, &n_bytes);
    if (status != STATUS_OK)
        return status;
    const struct weights_json_node *offsets = weights_json_find(tensor, "data_offsets");
    if (offsets == NULL || offsets->kind != WEIGHTS_JSON_ARRAY || offsets->n != 2 ||
        !weights_json_to_i64(offsets + 1, &begin) ||
        !weights_json_to_i64(weights_json_next(offsets + 1), &end))
        return refuse(part, tensor->key, "data_offsets aren't two integers");
    if (begin < 0 || end < begin || (uint64_t)end > part->n_bytes)
        return refuse(part, tensor->key, "data_offsets lie outside the file");
    entry.data = part->data + begin;
    struct weights_catalog *catalog = &part->set->catalog;
    status = weights_catalog_add(catalog, entry, tensor->key_bytes, part->fault);
    if (status != STATUS_OK || n_bytes == 0)
        return status;
    struct weights_entry *added = &catalog->at[catalog->n - 1];
    int64_t n = added->dims[0] * added->dims[1] * added->dims[2] * added->dims[3];
    if (n > (end - begin) / n_bytes || n * n_bytes != end - begin)
        return refuse(part, tensor->key, "data_offsets don't agree with shape and dtype");
    added->n_bytes = (uint64_t)(end - begin);
    if (entry.dtype == DTYPE_N)
        return STATUS_OK;
    if (begin % dtype_info(entry.dtype)->block_bytes != 0)
        return refuse(part, tensor->key, "data_offsets aren't a multiple of an element");
    return STATUS_OK;
}

/* Copies the data behind a misaligned header, so that its elements can be read in place. */
static enum status align_data(struct part *part, void **copy)
{
    if ((uintptr_t)part->data % DATA_ALIGN == 0 || part->n_bytes == 0)
        return STATUS_OK;
    *copy = mem_try(part->n_bytes);
    if (*copy == NULL)
        return fault_set(part->fault, STATUS_TOO_LARGE,
                         "%s: its data isn't aligned and no memory is left to copy it",
                         part->set->label);
    memcpy(*copy, part->data, part->n_bytes);
    part->data = *copy;
    return STATUS_OK;
}

static enum status read_part(struct weights_safetensors *set, const unsigned char *bytes,
                             size_t n_bytes, void **copy, struct fault *fault)
{
    uint64_t n_header = 0;
    struct weights_json header;
    enum status status =
        weights_foreign_pointer(view_of((const char *)bytes, n_bytes), set->label, fault);
    if (status != STATUS_OK)
        return status;
    if (n_bytes < sizeof(n_header))
        return fault_set(fault, STATUS_BAD_INPUT, "%s: too short for safetensors", set->label);
    memcpy(&n_header, bytes, sizeof(n_header));
    if (n_header > SAFETENSORS_HEADER_BYTES_MAX || n_header > n_bytes - sizeof(n_header))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: its header claims %llu bytes, more than the file or the limit of %d",
                         set->label, (unsigned long long)n_header, SAFETENSORS_HEADER_BYTES_MAX);
    char *text = mem_take((size_t)n_header + 1);
    memcpy(text, bytes + sizeof(n_header), (size_t)n_header);
    status = weights_json_parse(&header, text, (size_t)n_header, set->label, fault);
    if (status != STATUS_OK)
        return status;
    size_t start = sizeof(n_header) + (size_t)n_header;
    struct part part = { set, bytes + start, n_bytes - start, fault };
    const struct weights_json_node *tensor = header.nodes + 1;
    if (header.nodes[0].kind != WEIGHTS_JSON_OBJECT)
        status = fault_set(fault, STATUS_BAD_INPUT, "%s: its header isn't an object", set->label);
    else
        status = align_data(&part, copy);
    for (uint32_t i = 0; status == STATUS_OK && i < header.nodes[0].n; i++) {
        if (strcmp(tensor->key, "__metadata__") != 0)
            status = read_tensor(&part, tensor);
        tensor = weights_json_next(tensor);
    }
    weights_json_close(&header);
    return status;
}

static void init(struct weights_safetensors *set, uint32_t n_parts)
{
    *set = (struct weights_safetensors){ .label = "safetensors", .n_parts = n_parts };
    pile_init(&set->pile);
    weights_catalog_init(&set->catalog, &set->pile, set->label);
    set->maps = pile_take(&set->pile, n_parts * sizeof(*set->maps));
    set->copies = pile_take(&set->pile, n_parts * sizeof(*set->copies));
}

enum status weights_safetensors_read(struct weights_safetensors *set, const void *bytes,
                                     size_t n_bytes, struct fault *fault)
{
    init(set, 1);
    enum status status = read_part(set, bytes, n_bytes, &set->copies[0], fault);
    if (status == STATUS_OK)
        status = weights_catalog_seal(&set->catalog, fault);
    if (status != STATUS_OK)
        weights_safetensors_close(set);
    return status;
}

static enum status open_part(struct weights_safetensors *set, uint32_t index, const char *directory,
                             const char *name, struct fault *fault)
{
    char path[PATH_BYTES_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (n < 0 || n >= (int)sizeof(path))
        return fault_set(fault, STATUS_BAD_INPUT, "%s: the path is too long", name);
    snprintf(set->label, sizeof(set->label), "safetensors: %.80s", name);
    struct file_map *map = &set->maps[index];
    enum status status = file_map_open(map, path, fault);
    return status != STATUS_OK ? status
                               : read_part(set, map->at, map->n_bytes, &set->copies[index], fault);
}

/* Returns whether a shard is in the model's own directory. A name that leads elsewhere is
 * refused. */
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && strlen(name) < 256;
}

/* Sets names[0..n-1] to the distinct files of the index in order of appearance. Returns false when
 * there are too many. */
static bool collect_names(const struct weights_json_node *map, const char **names, uint32_t *n)
{
    const struct weights_json_node *value = map + 1;
    *n = 0;
    for (uint32_t i = 0; i < map->n; i++, value = weights_json_next(value)) {
        uint32_t j = *n; /* most tensors follow one of their own shard */
        while (j > 0 && strcmp(names[j - 1], value->text) != 0)
            j--;
        if (j > 0)
            continue;
        if (*n == SAFETENSORS_PARTS_MAX)
            return false;
        names[(*n)++] = value->text;
    }
    return true;
}

static enum status check_index(const struct weights_json_node *map, struct fault *fault)
{
    const char *label = "model.safetensors.index.json";
    if (map == NULL || map->kind != WEIGHTS_JSON_OBJECT || map->n == 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: weight_map is missing", label);
    if (map->n > CATALOG_TENSORS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "%s: more than %d tensors", label,
                         CATALOG_TENSORS_MAX);
    const struct weights_json_node *value = map + 1;
    for (uint32_t i = 0; i < map->n; i++, value = weights_json_next(value))
        if (value->kind != WEIGHTS_JSON_TEXT || !is_plain_name(value->text))
            return fault_set(fault, STATUS_BAD_INPUT,
                             "%s: weight_map gives %.80s no plain file name", label, value->key);
    return STATUS_OK;
}

static enum status open_shards(struct weights_safetensors *set, const char *directory,
                               const struct weights_json_node *map, struct fault *fault)
{
    const char *names[SAFETENSORS_PARTS_MAX];
    uint32_t n = 0;
    enum status status = check_index(map, fault);
    if (status == STATUS_OK && !collect_names(map, names, &n))
        status = fault_set(fault, STATUS_TOO_LARGE, "%s: more than %d shards", directory,
                           SAFETENSORS_PARTS_MAX);
    if (status != STATUS_OK)
        return status;
    init(set, n);
    for (uint32_t i = 0; i < n && status == STATUS_OK; i++)
        status = open_part(set, i, directory, names[i], fault);
    if (status == STATUS_OK)
        status = weights_catalog_seal(&set->catalog, fault);
    const struct weights_json_node *value = map + 1;
    for (uint32_t i = 0; i < map->n && status == STATUS_OK; i++, value = weights_json_next(value))
        if (weights_catalog_find(&set->catalog, value->key) == NULL)
            status = fault_set(fault, STATUS_BAD_INPUT, "safetensors: %.80s has no tensor %.100s",
                               value->text, value->key);
    if (status != STATUS_OK)
        weights_safetensors_close(set);
    return status;
}

enum status weights_safetensors_open(struct weights_safetensors *set, const char *directory,
                                     struct fault *fault)
{
    char path[PATH_BYTES_MAX];
    struct weights_json index;
    snprintf(path, sizeof(path), "%.4000s/model.safetensors.index.json", directory);
    if (file_exists(path)) {
        enum status status =
            weights_json_open(&index, path, INDEX_BYTES_MAX, "model.safetensors.index.json", fault);
        if (status != STATUS_OK)
            return status;
        status = open_shards(set, directory, weights_json_find(index.nodes, "weight_map"), fault);
        weights_json_close(&index);
        return status;
    }
    snprintf(path, sizeof(path), "%.4000s/model.safetensors", directory);
    if (!file_exists(path))
        return weights_foreign_weights(directory, fault);
    return weights_safetensors_open_file(set, directory, "model.safetensors", fault);
}

enum status weights_safetensors_open_file(struct weights_safetensors *set, const char *directory,
                                          const char *name, struct fault *fault)
{
    init(set, 1);
    enum status status = open_part(set, 0, directory, name, fault);
    if (status == STATUS_OK)
        status = weights_catalog_seal(&set->catalog, fault);
    if (status != STATUS_OK)
        weights_safetensors_close(set);
    return status;
}

void weights_safetensors_close(struct weights_safetensors *set)
{
    for (uint32_t i = 0; i < set->n_parts; i++) {
        if (set->maps[i].at != NULL)
            file_map_close(&set->maps[i]);
        mem_give(set->copies[i]);
    }
    weights_catalog_free(&set->catalog);
    pile_free(&set->pile);
    set->n_parts = 0;
}
