/* The tensors of a set of files under their own names: filled by the readers, then sealed and
 * searched. */
#pragma once
#include "base/pile.h"
#include "base/map.h"
#include "base/status.h"
#include "core/tensor.h"

enum { CATALOG_TENSORS_MAX = 1 << 18, CATALOG_NAME_BYTES = 128, CATALOG_DIMS = 4 };

struct weights_quantization; /* weights/hf_quantized.h */

struct weights_entry {
    const char *name;           /* clean text, zero-terminated */
    enum dtype dtype;           /* DTYPE_N: a type that is not supported */
    const char *type;           /* its name, also when it is not supported */
    int32_t n_dims;             /* 0 (a scalar) to 4 */
    int64_t dims[CATALOG_DIMS]; /* innermost first, each >= 1, unused ones 1; product < 2^62 */
    const unsigned char *data;
    uint64_t n_bytes; /* all inside the file; of GGUF's types that are not supported, 0 */
    bool is_used;     /* some role uses it */
    bool is_aside;    /* scales and the like, which hold no parameters */
    bool is_void;     /* as if the file did not have it: weights_catalog_find finds it no more */
    int32_t n_packed; /* parameters in one element; 0: it is one */
};

struct weights_catalog {
    const char *label; /* name of the file set in faults: "gguf: m.gguf" */
    struct pile *pile; /* owns the names */
    struct weights_entry *at;
    int32_t n, capacity;
    struct map by_name; /* hash of the name to index; made by seal */
    bool is_sealed;
    const struct weights_quantization *quantization; /* NULL: none; borrowed */
};

void weights_catalog_init(struct weights_catalog *catalog, struct pile *pile, const char *label);
void weights_catalog_free(struct weights_catalog *catalog);
/* Adds an entry. Checks the name, and that the product of the sizes does not overflow. Copies the
 * name and sets n_bytes from the dtype. */
enum status weights_catalog_add(struct weights_catalog *catalog, struct weights_entry entry,
                                size_t n_name, struct fault *fault) MUST_USE;
/* Makes the index. Two tensors with one name are refused. */
enum status weights_catalog_seal(struct weights_catalog *catalog, struct fault *fault) MUST_USE;
struct weights_entry *weights_catalog_find(const struct weights_catalog *catalog, const char *name);
/* Returns the tensor as rows of its innermost dimension. data is NULL when it cannot be read in
 * this form. */
struct tensor weights_catalog_tensor(const struct weights_entry *entry);
/* Sets *n to the number of parameters of all tensors that are used. */
enum status weights_catalog_count(const struct weights_catalog *catalog, int64_t *n,
                                  struct fault *fault) MUST_USE;
/* Returns 64 bits over names, types, shapes and a sample of the content of all tensors: a sum,
 * which is the same however the set is split. */
uint64_t weights_catalog_hash(const struct weights_catalog *catalog);
/* Writes "(4096, 11008)", outermost first. */
void weights_catalog_print_dims(const struct weights_entry *entry, char *text, size_t n_bytes);
