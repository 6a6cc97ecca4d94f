/* The tensors of a set of files under their own names: filled by the readers, then sealed and
 * searched. */
#pragma once
#include "base/pile.h"
#include "base/map.h"
#include "base/status.h"
#include "core/tensor.h"

enum { CATALOG_TENSORS_MAX = 1 << 16, CATALOG_NAME_BYTES = 128, CATALOG_DIMS = 4 };

struct weights_entry {
    const char *name;           /* clean text, zero-terminated */
    enum dtype dtype;           /* DTYPE_N: a type that we don't read */
    const char *type;           /* its name, also when we don't read it */
    int32_t n_dims;             /* 0 (a scalar) to 4 */
    int64_t dims[CATALOG_DIMS]; /* innermost first, each >= 1, unused ones 1; product < 2^62 */
    const unsigned char *data;
    uint64_t n_bytes; /* all inside the file; 0 when dtype is DTYPE_N */
    bool is_used;     /* some role has it */
};

struct weights_catalog {
    const char *label; /* how faults call the file set: "gguf: m.gguf" */
    struct pile *pile; /* names live there */
    struct weights_entry *at;
    int32_t n, capacity;
    struct map by_name; /* hash of the name to index; made by seal */
    bool is_sealed;
};

void weights_catalog_init(struct weights_catalog *catalog, struct pile *pile, const char *label);
void weights_catalog_free(struct weights_catalog *catalog);
/* Checks the name and that sizes multiply without overflow, copies the name; sets n_bytes from the
 * dtype. */
enum status weights_catalog_add(struct weights_catalog *catalog, struct weights_entry entry,
                                size_t n_name, struct fault *fault) MUST_USE;
/* Makes the index; two tensors of one name are refused. */
enum status weights_catalog_seal(struct weights_catalog *catalog, struct fault *fault) MUST_USE;
struct weights_entry *weights_catalog_find(const struct weights_catalog *catalog, const char *name);
/* The tensor as rows of its innermost dimension; data NULL when it isn't readable so. */
struct tensor weights_catalog_tensor(const struct weights_entry *entry);
/* Elements of all tensors together. */
enum status weights_catalog_count(const struct weights_catalog *catalog, int64_t *n,
                                  struct fault *fault) MUST_USE;
/* "(4096, 11008)", outermost first. */
void weights_catalog_print_dims(const struct weights_entry *entry, char *text, size_t n_bytes);
