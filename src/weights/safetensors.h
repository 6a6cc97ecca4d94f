/* safetensors: one file, or the shards that model.safetensors.index.json names. */
#pragma once
#include "base/file.h"
#include "weights/catalog.h"

enum { SAFETENSORS_PARTS_MAX = 512, SAFETENSORS_HEADER_BYTES_MAX = 100 << 20 };

struct weights_safetensors {
    char label[96];
    struct pile pile;
    uint32_t n_parts;
    struct file_map *maps;
    void **copies; /* (n_parts) data of a part with a header that misaligned it, else NULL */
    struct weights_catalog catalog; /* sealed */
};

/* Opens the weights in a directory. On failure nothing is left open. */
enum status weights_safetensors_open(struct weights_safetensors *set, const char *directory,
                                     struct fault *fault) MUST_USE;
/* Does the same for one file of the directory. */
enum status weights_safetensors_open_file(struct weights_safetensors *set, const char *directory,
                                          const char *name, struct fault *fault) MUST_USE;
/* Does the same for one file in memory, which must stay until close. */
enum status weights_safetensors_read(struct weights_safetensors *set, const void *bytes,
                                     size_t n_bytes, struct fault *fault) MUST_USE;
void weights_safetensors_close(struct weights_safetensors *set);
